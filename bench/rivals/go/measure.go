package main

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is a rival with W loaded. Each method answers by itself; nothing is kept between calls
// that the rival does not keep. An engine that is asked by several goroutines is made anew by
// Another for each of them.
type Engine interface {
	Check(user, table string) (bool, error)
	// Batch answers questions in as few calls as the rival allows; BatchSize is its size.
	Batch(questions []Question) ([]bool, error)
	// List gives the tables that a user may load, or what was found when the context ended.
	List(ctx context.Context, user string) (tables []string, complete bool, err error)
	Another() (Engine, error)
}

// Effort is how much is asked. A part stops when engine and store have taken Seconds of the
// processor, or at Patience times as long by the clock, which counts where the machine is shared.
type Effort struct {
	Seconds     float64
	ListSeconds float64
	WarmSeconds float64
	BatchSize   int
	Connections []int
	Singles     bool
	Batches     bool
}

// Pass is what one run of questions gave: the answers, and what they took.
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

// Listed is what one list gave.
type Listed struct {
	User     string   `json:"user"`
	Tables   []string `json:"tables"`
	Complete bool     `json:"complete"`
	Seconds  float64  `json:"seconds"`
	CPU      float64  `json:"cpu_s"`
	StoreCPU float64  `json:"store_cpu_s"`
	Error    string   `json:"error,omitempty"`
}

// Measured is all that is reported; bench/rivals/compare.py compares the answers with the truth.
type Measured struct {
	Loaded  string   `json:"loaded,omitempty"`
	LoadS   float64  `json:"load_s"`
	PeakMiB float64  `json:"peak_mib"`
	Single  *Pass    `json:"single,omitempty"`
	Batch   *Pass    `json:"batch,omitempty"`
	Rates   []Pass   `json:"rates,omitempty"`
	Lists   []Listed `json:"lists,omitempty"`
}

// Meter tells what the processes measured have taken of the processor, in seconds.
type Meter func() (engine, store float64)

const (
	// Patience is for machines on which others work.
	Patience = 4
	// warm is how many questions are asked before a clock starts, whatever they take.
	warm = 50
	// glance is how many questions pass between two looks at the meter.
	glance = 64
)

type bench struct {
	world  *World
	effort Effort
	meter  Meter
	// next is the question that has not been asked yet: no part repeats those of another before
	// all have been asked, so that no rival answers from a cache of whole answers.
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
	// Meanwhile servers may have closed a connection that nothing was asked on.
	fresh, err := engine.Another()
	if err != nil {
		return err
	}
	for _, user := range b.world.Lists {
		measured.Lists = append(measured.Lists, b.list(fresh, user))
	}
	return nil
}

// warm asks from the last question on, for a server as long as it is told, which is to fill what
// the server keeps; the parts that are measured begin with the first.
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

// limit gives what tells whether a part goes on.
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

// rate keeps one request under way on each connection.
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

// watch ends a list that has taken its share of the processor.
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
