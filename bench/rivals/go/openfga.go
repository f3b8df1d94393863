package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"github.com/openfga/language/pkg/go/transformer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

//go:embed model.fga
var fgaModel string

const (
	fgaWrite   = 100 // tuples in a call, the limit of a server as shipped
	fgaBatch   = 50  // checks in a call, likewise
	fgaWriters = 4
)

// fgaEngine queries OpenFGA over gRPC.
type fgaEngine struct {
	client       openfgav1.OpenFGAServiceClient
	store, model string
	address      string
}

func fgaClient(address string) (openfgav1.OpenFGAServiceClient, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return openfgav1.NewOpenFGAServiceClient(connection), nil
}

// loadFGA writes model and tuples into a separate store and returns the engine that queries it.
func loadFGA(world *World, address string) (Engine, error) {
	client, err := fgaClient(address)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	store, err := client.CreateStore(ctx, &openfgav1.CreateStoreRequest{Name: "workload-w"})
	if err != nil {
		return nil, err
	}
	declared, err := transformer.TransformDSLToProto(fgaModel)
	if err != nil {
		return nil, err
	}
	model, err := client.WriteAuthorizationModel(ctx, &openfgav1.WriteAuthorizationModelRequest{
		StoreId: store.GetId(), SchemaVersion: declared.GetSchemaVersion(),
		TypeDefinitions: declared.GetTypeDefinitions(),
	})
	if err != nil {
		return nil, err
	}
	engine := &fgaEngine{client, store.GetId(), model.GetAuthorizationModelId(), address}
	return engine, engine.write(ctx, fgaTuples(world))
}

func fgaTuples(world *World) []*openfgav1.TupleKey {
	var tuples []*openfgav1.TupleKey
	for _, each := range relations(world) {
		subject := each.SubjectType + ":" + each.SubjectID
		if each.SubjectRelation != "" {
			subject += "#" + each.SubjectRelation
		}
		object := each.Type + ":" + each.ID
		tuples = append(tuples, &openfgav1.TupleKey{User: subject, Relation: each.Relation, Object: object})
	}
	return tuples
}

func (f *fgaEngine) write(ctx context.Context, tuples []*openfgav1.TupleKey) error {
	parts := make(chan []*openfgav1.TupleKey)
	failures := make(chan error, fgaWriters)
	var group sync.WaitGroup
	for range fgaWriters {
		group.Go(func() {
			var failed error
			for part := range parts {
				if failed != nil {
					continue
				}
				_, failed = f.client.Write(ctx, &openfgav1.WriteRequest{
					StoreId: f.store, AuthorizationModelId: f.model,
					Writes: &openfgav1.WriteRequestWrites{TupleKeys: part},
				})
			}
			failures <- failed
		})
	}
	for start := 0; start < len(tuples); start += fgaWrite {
		parts <- tuples[start:min(start+fgaWrite, len(tuples))]
	}
	close(parts)
	group.Wait()
	close(failures)
	var all error
	for failed := range failures {
		all = errors.Join(all, failed)
	}
	return all
}

func (f *fgaEngine) Check(user, table string) (bool, error) {
	answer, err := f.client.Check(context.Background(), &openfgav1.CheckRequest{
		StoreId: f.store, AuthorizationModelId: f.model,
		TupleKey: &openfgav1.CheckRequestTupleKey{User: "user:" + user, Relation: "load", Object: "table:" + table},
	})
	return answer.GetAllowed(), err
}

func (f *fgaEngine) Batch(questions []Question) ([]bool, error) {
	var answers []bool
	for start := 0; start < len(questions); start += fgaBatch {
		part := questions[start:min(start+fgaBatch, len(questions))]
		var checks []*openfgav1.BatchCheckItem
		for at, each := range part {
			checks = append(checks, &openfgav1.BatchCheckItem{
				CorrelationId: strconv.Itoa(at),
				TupleKey: &openfgav1.CheckRequestTupleKey{
					User: "user:" + each.User, Relation: "load", Object: "table:" + each.Table,
				},
			})
		}
		answer, err := f.client.BatchCheck(context.Background(), &openfgav1.BatchCheckRequest{
			StoreId: f.store, AuthorizationModelId: f.model, Checks: checks,
		})
		if err != nil {
			return nil, err
		}
		for at := range part {
			one := answer.GetResult()[strconv.Itoa(at)]
			if one.GetError() != nil {
				return nil, fmt.Errorf("batch: %s", one.GetError().GetMessage())
			}
			answers = append(answers, one.GetAllowed())
		}
	}
	return answers, nil
}

// List streams. OpenFGA does not report whether it is complete: at its deadline the stream ends.
func (f *fgaEngine) List(ctx context.Context, user string) ([]string, bool, error) {
	stream, err := f.client.StreamedListObjects(ctx, &openfgav1.StreamedListObjectsRequest{
		StoreId: f.store, AuthorizationModelId: f.model, Type: "table", Relation: "load", User: "user:" + user,
	})
	if err != nil {
		return nil, false, err
	}
	var tables []string
	for {
		one, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return tables, true, nil
		case ctx.Err() != nil:
			return tables, false, nil
		case err != nil:
			return tables, false, err
		}
		tables = append(tables, one.GetObject()[len("table:"):])
	}
}

// Another uses its own connection.
func (f *fgaEngine) Another() (Engine, error) {
	client, err := fgaClient(f.address)
	return &fgaEngine{client, f.store, f.model, f.address}, err
}
