// Queries rivals with workload W and prints, as one JSON object, their answers and times.
// bench/rivals/rows.py starts it; bench/rivals/compare.py checks the answers before they count.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type options struct {
	engine, world, address, headers, path, key, folder, loaded string
	server, store                                              int
	effort                                                     Effort
}

func parsed() options {
	var given options
	var connections string
	flag.StringVar(&given.engine, "engine", "", "casbin, opa, opa-files, opa-served, openfga, spicedb or authzen")
	flag.StringVar(&given.world, "world", "", "file with workload W")
	flag.StringVar(&given.address, "address", "", "host:port of the server")
	flag.StringVar(&given.headers, "authorization", "", "value of the Authorization header")
	flag.StringVar(&given.path, "path", "", "path of the AuthZEN endpoints")
	flag.StringVar(&given.key, "key", "", "preshared key of SpiceDB")
	flag.StringVar(&given.folder, "folder", "", "where opa-files writes")
	flag.StringVar(&given.loaded, "loaded", "", "STORE/MODEL of an OpenFGA that holds W already")
	flag.IntVar(&given.server, "server", 0, "process of the server, to be metered")
	flag.IntVar(&given.store, "store", 0, "process of the database, to be metered")
	flag.Float64Var(&given.effort.Seconds, "seconds", 10, "limit of each part, of the processor")
	flag.Float64Var(&given.effort.WarmSeconds, "warm", 0, "seconds of questions before the first part")
	flag.Float64Var(&given.effort.ListSeconds, "list-seconds", 60, "limit of each list")
	flag.IntVar(&given.effort.BatchSize, "batch", 1_000, "questions of a batch")
	flag.StringVar(&connections, "connections", "", "for example 1,8,32")
	flag.BoolVar(&given.effort.Singles, "singles", true, "ask single questions")
	flag.BoolVar(&given.effort.Batches, "batches", true, "ask batches")
	flag.Parse()
	for each := range strings.SplitSeq(connections, ",") {
		if count, err := strconv.Atoi(each); err == nil {
			given.effort.Connections = append(given.effort.Connections, count)
		}
	}
	return given
}

// made returns the engine with W loaded, or the client of a server that has it.
func (o options) made(world *World) (Engine, error) {
	switch o.engine {
	case "casbin":
		return newCasbin(world)
	case "opa":
		return newOPA(world)
	case "opa-served":
		wire, err := newWire(o.address, "")
		return &opaServed{wire}, err
	case "openfga":
		if store, model, found := strings.Cut(o.loaded, "/"); found {
			client, err := fgaClient(o.address)
			return &fgaEngine{client, store, model, o.address}, err
		}
		return loadFGA(world, o.address)
	case "spicedb":
		return loadZed(world, o.address, o.key)
	case "authzen":
		wire, err := newWire(o.address, "Authorization: "+o.headers+"\r\n")
		return &authzen{wire, o.path}, err
	}
	return nil, fmt.Errorf("no engine `%s`", o.engine)
}

func run() error {
	given := parsed()
	world, err := loadWorld(given.world)
	if err != nil {
		return err
	}
	if given.engine == "opa-files" {
		return writeOPA(world, filepath.Clean(given.folder))
	}
	begun := time.Now()
	engine, err := given.made(world)
	if err != nil {
		return err
	}
	measured := &Measured{LoadS: time.Since(begun).Seconds()}
	if fga, ok := engine.(*fgaEngine); ok {
		measured.Loaded = fga.store + "/" + fga.model
	}
	meter, pid := Meter(own), os.Getpid()
	if given.server != 0 {
		meter, pid = trees(given.server, given.store), given.server
	}
	if err := (&bench{world: world, effort: given.effort, meter: meter}).all(engine, measured); err != nil {
		return err
	}
	measured.PeakMiB = peakMiB(pid)
	return json.NewEncoder(os.Stdout).Encode(measured)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
