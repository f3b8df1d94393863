package main

import (
	"context"
	_ "embed"
	"errors"
	"io"

	v1 "github.com/authzed/authzed-go/proto/authzed/api/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

//go:embed schema.zed
var zedSchema string

const zedWrite = 1_000

// zedEngine queries SpiceDB over gRPC, always at the revision at which W was written: its cache of
// partial answers is by revision, so no entry is lost during the measurement.
type zedEngine struct {
	permissions v1.PermissionsServiceClient
	revision    *v1.Consistency
	address     string
	key         string
}

func zedConnection(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func (z *zedEngine) context() context.Context { return z.within(context.Background()) }

func (z *zedEngine) within(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+z.key)
}

func loadZed(world *World, address, key string) (Engine, error) {
	connection, err := zedConnection(address)
	if err != nil {
		return nil, err
	}
	engine := &zedEngine{permissions: v1.NewPermissionsServiceClient(connection), address: address, key: key}
	schemas := v1.NewSchemaServiceClient(connection)
	if _, err := schemas.WriteSchema(engine.context(), &v1.WriteSchemaRequest{Schema: zedSchema}); err != nil {
		return nil, err
	}
	if err := engine.imported(zedRelationships(world)); err != nil {
		return nil, err
	}
	newest := &v1.Consistency{Requirement: &v1.Consistency_FullyConsistent{FullyConsistent: true}}
	question := world.Questions[0]
	answer, err := engine.permissions.CheckPermission(engine.context(), zedCheck(question.User, question.Table, newest))
	if err != nil {
		return nil, err
	}
	engine.revision = &v1.Consistency{
		Requirement: &v1.Consistency_AtExactSnapshot{AtExactSnapshot: answer.GetCheckedAt()},
	}
	return engine, nil
}

func zedRelationships(world *World) []*v1.Relationship {
	var found []*v1.Relationship
	for _, each := range relations(world) {
		found = append(found, &v1.Relationship{
			Resource: &v1.ObjectReference{ObjectType: each.Type, ObjectId: zedID(each.ID)},
			Relation: each.Relation,
			Subject: &v1.SubjectReference{
				Object:           &v1.ObjectReference{ObjectType: each.SubjectType, ObjectId: zedID(each.SubjectID)},
				OptionalRelation: each.SubjectRelation,
			},
		})
	}
	return found
}

// zedID spells a name with SpiceDB's characters, which do not include the full stop.
func zedID(name string) string { return replaced(name, '.', '/') }

func replaced(name string, from, to byte) string {
	letters := []byte(name)
	for at, letter := range letters {
		if letter == from {
			letters[at] = to
		}
	}
	return string(letters)
}

func (z *zedEngine) imported(relationships []*v1.Relationship) error {
	stream, err := z.permissions.ImportBulkRelationships(z.context())
	if err != nil {
		return err
	}
	for start := 0; start < len(relationships); start += zedWrite {
		part := relationships[start:min(start+zedWrite, len(relationships))]
		if err := stream.Send(&v1.ImportBulkRelationshipsRequest{Relationships: part}); err != nil {
			break // the reason is what CloseAndRecv gives
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

func zedCheck(user, table string, at *v1.Consistency) *v1.CheckPermissionRequest {
	return &v1.CheckPermissionRequest{
		Consistency: at,
		Resource:    &v1.ObjectReference{ObjectType: "table", ObjectId: zedID(table)},
		Permission:  "load",
		Subject:     &v1.SubjectReference{Object: &v1.ObjectReference{ObjectType: "user", ObjectId: user}},
	}
}

const zedAllows = v1.CheckPermissionResponse_PERMISSIONSHIP_HAS_PERMISSION

func (z *zedEngine) Check(user, table string) (bool, error) {
	answer, err := z.permissions.CheckPermission(z.context(), zedCheck(user, table, z.revision))
	return answer.GetPermissionship() == zedAllows, err
}

func (z *zedEngine) Batch(questions []Question) ([]bool, error) {
	request := &v1.CheckBulkPermissionsRequest{Consistency: z.revision}
	for _, each := range questions {
		one := zedCheck(each.User, each.Table, nil)
		request.Items = append(request.Items, &v1.CheckBulkPermissionsRequestItem{
			Resource: one.GetResource(), Permission: one.GetPermission(), Subject: one.GetSubject(),
		})
	}
	answer, err := z.permissions.CheckBulkPermissions(z.context(), request)
	if err != nil {
		return nil, err
	}
	var answers []bool
	for _, pair := range answer.GetPairs() {
		if pair.GetError() != nil {
			return nil, errors.New(pair.GetError().GetMessage())
		}
		answers = append(answers, pair.GetItem().GetPermissionship() == zedAllows)
	}
	return answers, nil
}

func (z *zedEngine) List(ctx context.Context, user string) ([]string, bool, error) {
	stream, err := z.permissions.LookupResources(z.within(ctx), &v1.LookupResourcesRequest{
		Consistency: z.revision, ResourceObjectType: "table", Permission: "load",
		Subject: &v1.SubjectReference{Object: &v1.ObjectReference{ObjectType: "user", ObjectId: user}},
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
		tables = append(tables, replaced(one.GetResourceObjectId(), '/', '.'))
	}
}

func (z *zedEngine) Another() (Engine, error) {
	connection, err := zedConnection(z.address)
	if err != nil {
		return nil, err
	}
	return &zedEngine{v1.NewPermissionsServiceClient(connection), z.revision, z.address, z.key}, nil
}
