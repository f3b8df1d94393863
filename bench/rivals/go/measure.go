package main

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is a rival with W loaded. Each call is independent; only the rival itself caches between
// calls. Another creates a separate engine for each of several goroutines.
type Engine interface {
	Check(user, table string) (bool, error)
	// Batch answers questions in the fewest calls that the rival allows; BatchSize is its size.
	Batch(questions []Question) ([]bool, error)
	// List returns the tables that a user may load, or those found when the context ended.
	List(ctx context.Context, user string) (tables []string, complete bool, err error)
	Another() (Engine, error)
}

// Effort is the amount of work. A part stops when engine and store have used Seconds of CPU time,
// or after Patience times as long by the wall clock, which matters if the machine is shared.
type Effort struct {
	Seconds     float64
	ListSeconds float64
	WarmSeconds float64
	BatchSize   int
	Connections []int
	Singles     bool
	Batches     bool
}

// Pass is the result of one run of questions: the answers and their times.
type Pass struct {
	From       int     `json:"from"`
	Answers    string  `json:"answers"`
	Seconds    float64 `json:"seconds"`
	CPU        float64 `json:"cpu_s"`
	StoreCPU   float64 `json:"store_cpu_s"`
	P50        float64 `json:"p50_us,omitempty"`
	P99        float64 `json:"p99_us,omitempty"`
	Size       int     `json:"size,omitempty"`
	Connection int     `json:"connections,omitempty"`
	Error      string  `json:"error,omitempty"` // what ended it early
}

// Listed is the result of one list.
type Listed struct {
	User     string   `json:"user"`
	Tables   []string `json:"tables"`
	Complete bool     `json:"complete"`
	Seconds  float64  `json:"seconds"`
	CPU      float64  `json:"cpu_s"`
	StoreCPU float64  `json:"store_cpu_s"`
	Error    string   `json:"error,omitempty"`
}

// Measured is the whole report; bench/rivals/compare.py compares the answers with the truth.
type Measured struct {
	Loaded  string   `json:"loaded,omitempty"`
	LoadS   float64  `json:"load_s"`
	PeakMiB float64  `json:"peak_mib"`
	Single  *Pass    `json:"single,omitempty"`
	Batch   *Pass    `json:"batch,omitempty"`
	Rates   []Pass   `json:"rates,omitempty"`
	Lists   []Listed `json:"lists,omitempty"`
}

// Meter returns the CPU time of the measured processes, in seconds.
type Meter func() (engine, store float64)

const (
	// Patience allows for machines that are also used by others.
	Patience = 4
	// warm is the number of questions before a clock starts, regardless of their time.
	warm = 50
	// glance is the number of questions between two readings of the meter.
	glance = 64
)

type bench struct {
	world  *World
	effort Effort
	meter  Meter
	// next is the first question not asked yet: no part repeats another's questions before all
	// have been asked, so no rival answers from a cache of whole answers.
	next int
}

func (b *bench) question(at int) Question { return b.world.Questions[at%len(b.world.Questions)] }

func (b *bench) all(engine Engine, measured *Measured) error {
	if err := b.warm(engine); err != nil {
		return err
	}
	if b.effort.Singles {
		measured.Single = b.single(engine)
	}
	if b.effort.Batches {
		measured.Batch = b.batch(engine)
	}
	for _, connections := range b.effort.Connections {
		pass, err := b.rate(engine, connections)
		if err != nil {
			return err
		}
		measured.Rates = append(measured.Rates, *pass)
	}
	// Meanwhile servers may have closed an idle connection.
	fresh, err := engine.Another()
	if err != nil {
		return err
	}
	for _, user := range b.world.Lists {
		measured.Lists = append(measured.Lists, b.list(fresh, user))
	}
	return nil
}

// warm asks questions backwards from the last, for a server for the given time, to fill its
// caches; the measured parts begin with the first question.
func (b *bench) warm(engine Engine) error {
	end := time.Now().Add(seconds(b.effort.WarmSeconds))
	for at := range b.world.Questions {
		if at >= warm && !time.Now().Before(end) {
			break
		}
		question := b.question(len(b.world.Questions) - 1 - at)
		if _, err := engine.Check(question.User, question.Table); err != nil {
			return err
		}
	}
	return nil
}

// limit returns a function that reports whether a part may continue.
func (b *bench) limit() func() bool {
	engine, store := b.meter()
	end := time.Now().Add(seconds(b.effort.Seconds * Patience))
	var calls atomic.Int64
	var over atomic.Bool
	return func() bool {
		if calls.Add(1)%glance == 0 {
			now, nowStore := b.meter()
			over.Store(now-engine+nowStore-store > b.effort.Seconds)
		}
		return !over.Load() && time.Now().Before(end)
	}
}

func (b *bench) single(engine Engine) *Pass {
	pass := &Pass{From: b.next}
	var answers []byte
	var taken []time.Duration
	goesOn, stop := b.limit(), b.clock(pass)
	for at := b.next; at < b.next+len(b.world.Questions) && goesOn(); at++ {
		question := b.question(at)
		begun := time.Now()
		allowed, err := engine.Check(question.User, question.Table)
		if err != nil {
			pass.Error = err.Error()
			break
		}
		taken = append(taken, time.Since(begun))
		answers = append(answers, bit(allowed))
	}
	stop()
	b.close(pass, answers, taken)
	return pass
}

func (b *bench) batch(engine Engine) *Pass {
	size := b.effort.BatchSize
	pass := &Pass{From: b.next, Size: size}
	var answers []byte
	stop, end := b.clock(pass), time.Now().Add(seconds(b.effort.Seconds*Patience))
	for at := b.next; at < b.next+len(b.world.Questions) && time.Now().Before(end); at += size {
		questions := make([]Question, size)
		for each := range questions {
			questions[each] = b.question(at + each)
		}
		given, err := engine.Batch(questions)
		for _, allowed := range given {
			answers = append(answers, bit(allowed))
		}
		if err != nil {
			pass.Error = err.Error()
			break
		}
	}
	stop()
	b.close(pass, answers, nil)
	return pass
}

// rate keeps one request in flight on each connection.
func (b *bench) rate(engine Engine, connections int) (*Pass, error) {
	engines := make([]Engine, connections)
	for at := range engines {
		another, err := engine.Another()
		if err != nil {
			return nil, err
		}
		engines[at] = another
	}
	var (
		group   sync.WaitGroup
		lock    sync.Mutex
		next    = b.next
		answers = map[int]byte{}
		taken   []time.Duration
	)
	pass := &Pass{From: b.next, Connection: connections}
	goesOn, stop := b.limit(), b.clock(pass)
	for _, each := range engines {
		group.Go(func() {
			mine, times := map[int]byte{}, []time.Duration{}
			var err error
			for err == nil && goesOn() {
				lock.Lock()
				at := next
				next++
				lock.Unlock()
				question := b.question(at)
				begun := time.Now()
				var allowed bool
				if allowed, err = each.Check(question.User, question.Table); err == nil {
					times = append(times, time.Since(begun))
					mine[at] = bit(allowed)
				}
			}
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				pass.Error = err.Error()
			}
			taken = append(taken, times...)
			for at, answer := range mine {
				answers[at] = answer
			}
		})
	}
	group.Wait()
	stop()
	ordered := make([]byte, 0, len(answers))
	for at := pass.From; at < next; at++ {
		if answer, given := answers[at]; given {
			ordered = append(ordered, answer)
		} else {
			ordered = append(ordered, '-')
		}
	}
	b.close(pass, ordered, taken)
	return pass, nil
}

func (b *bench) list(engine Engine, user string) Listed {
	listed := Listed{User: user}
	pass := &Pass{}
	ctx, cancel := context.WithTimeout(context.Background(), seconds(b.effort.ListSeconds*Patience))
	defer cancel()
	go b.watch(ctx, cancel)
	stop := b.clock(pass)
	tables, complete, err := engine.List(ctx, user)
	stop()
	listed.Tables, listed.Complete = tables, complete
	if err != nil {
		listed.Error = err.Error()
	}
	listed.Seconds, listed.CPU, listed.StoreCPU = pass.Seconds, pass.CPU, pass.StoreCPU
	return listed
}

// watch ends a list that has used its share of CPU time.
func (b *bench) watch(ctx context.Context, cancel context.CancelFunc) {
	engine, store := b.meter()
	for ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		if now, nowStore := b.meter(); now-engine+nowStore-store > b.effort.ListSeconds {
			cancel()
		}
	}
}

func (b *bench) clock(pass *Pass) func() {
	cpu, store := b.meter()
	begun := time.Now()
	return func() {
		pass.Seconds = time.Since(begun).Seconds()
		after, storeAfter := b.meter()
		pass.CPU, pass.StoreCPU = after-cpu, storeAfter-store
	}
}

func (b *bench) close(pass *Pass, answers []byte, taken []time.Duration) {
	pass.Answers = string(answers)
	b.next += len(answers)
	if len(taken) > 0 {
		sort.Slice(taken, func(i, j int) bool { return taken[i] < taken[j] })
		pass.P50 = micros(taken[len(taken)/2])
		pass.P99 = micros(taken[len(taken)*99/100])
	}
}

func micros(taken time.Duration) float64 { return float64(taken.Nanoseconds()) / 1e3 }

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func bit(allowed bool) byte {
	if allowed {
		return '1'
	}
	return '0'
}
