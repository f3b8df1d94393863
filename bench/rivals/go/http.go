package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// wire is a keep-alive HTTP/1.1 connection with one request in flight. A request costs only a few
// microseconds of CPU time, so the generator takes little from the server on the same machine.
type wire struct {
	address, headers string
	connection       net.Conn
	reader           *bufio.Reader
}

func newWire(address, headers string) (*wire, error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &wire{address, headers, connection, bufio.NewReaderSize(connection, 1<<16)}, nil
}

func (w *wire) post(ctx context.Context, path string, body any, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { w.connection.SetDeadline(time.Unix(1, 0)) })()
	request := make([]byte, 0, len(text)+256)
	request = append(request, "POST "+path+" HTTP/1.1\r\nHost: "+w.address+"\r\nContent-Type: application/json\r\n"...)
	request = append(request, w.headers+"Content-Length: "+strconv.Itoa(len(text))+"\r\n\r\n"...)
	if _, err := w.connection.Write(append(request, text...)); err != nil {
		return err
	}
	response, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		return fmt.Errorf("%s answered %d: %s", path, response.StatusCode, said)
	}
	given, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(given, answer)
}

// opaServed queries `opa run --server`.
type opaServed struct{ wire *wire }

type opaResult[T any] struct {
	Result T `json:"result"`
}

func (o *opaServed) Check(user, table string) (bool, error) {
	var answer opaResult[bool]
	input := map[string]any{"input": Question{user, table}}
	err := o.wire.post(always, "/v1/data/w/allow", input, &answer)
	return answer.Result, err
}

func (o *opaServed) Batch(questions []Question) ([]bool, error) {
	var answer opaResult[[]bool]
	input := map[string]any{"input": map[string]any{"questions": questions}}
	err := o.wire.post(always, "/v1/data/w/batch", input, &answer)
	return answer.Result, err
}

func (o *opaServed) List(ctx context.Context, user string) ([]string, bool, error) {
	var answer opaResult[[]string]
	input := map[string]any{"input": map[string]any{"user": user}}
	err := o.wire.post(ctx, "/v1/data/w/list", input, &answer)
	if ctx.Err() != nil { // a connection that was given up: the next list needs another
		again, dialed := newWire(o.wire.address, o.wire.headers)
		o.wire = again
		return nil, false, dialed
	}
	return answer.Result, err == nil, err
}

func (o *opaServed) Another() (Engine, error) {
	wire, err := newWire(o.wire.address, o.wire.headers)
	return &opaServed{wire}, err
}

// authzen queries `lakewarden serve` over AuthZEN.
type authzen struct {
	wire *wire
	path string
}

type authzenEntity struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
}

type authzenQuestion struct {
	Subject  authzenEntity     `json:"subject"`
	Action   map[string]string `json:"action"`
	Resource authzenEntity     `json:"resource"`
	Page     map[string]any    `json:"page,omitempty"`
}

type authzenDecision struct {
	Decision bool `json:"decision"`
}

const metalake = "m:"

var always = context.Background()

var loadTable = map[string]string{"name": "table.load"}

func authzenAsked(user, table string) authzenQuestion {
	return authzenQuestion{
		Subject: authzenEntity{"user", user}, Action: loadTable, Resource: authzenEntity{"table", metalake + table},
	}
}

func (a *authzen) Check(user, table string) (bool, error) {
	var answer authzenDecision
	err := a.wire.post(always, a.path+"/evaluation", authzenAsked(user, table), &answer)
	return answer.Decision, err
}

func (a *authzen) Batch(questions []Question) ([]bool, error) {
	var asked []authzenQuestion
	for _, each := range questions {
		asked = append(asked, authzenAsked(each.User, each.Table))
	}
	var answer struct {
		Evaluations []authzenDecision `json:"evaluations"`
	}
	err := a.wire.post(always, a.path+"/evaluations", map[string]any{"evaluations": asked}, &answer)
	var answers []bool
	for _, each := range answer.Evaluations {
		answers = append(answers, each.Decision)
	}
	return answers, err
}

func (a *authzen) List(ctx context.Context, user string) ([]string, bool, error) {
	asked := authzenQuestion{
		Subject: authzenEntity{"user", user}, Action: loadTable, Resource: authzenEntity{Type: "table"},
		Page: map[string]any{"limit": 1_000},
	}
	var tables []string
	for {
		var answer struct {
			Results []authzenEntity `json:"results"`
			Page    struct {
				Next string `json:"next_token"`
			} `json:"page"`
		}
		if err := a.wire.post(ctx, a.path+"/search/resource", asked, &answer); err != nil {
			return tables, false, err
		}
		for _, each := range answer.Results {
			tables = append(tables, each.ID[len(metalake):])
		}
		if answer.Page.Next == "" {
			return tables, true, nil
		}
		asked.Page = map[string]any{"limit": 1_000, "token": answer.Page.Next}
	}
}

func (a *authzen) Another() (Engine, error) {
	wire, err := newWire(a.wire.address, a.wire.headers)
	return &authzen{wire, a.path}, err
}
