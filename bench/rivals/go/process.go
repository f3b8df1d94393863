package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const ticks = 100 // of a second, in /proc; what sysconf(_SC_CLK_TCK) gives on Linux

// own meters this process, for embedded engines.
func own() (float64, float64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return timeval(usage.Utime) + timeval(usage.Stime), 0
}

func timeval(value syscall.Timeval) float64 {
	return float64(value.Sec) + float64(value.Usec)/1e6
}

// trees meters a server and its store, each with its descendants.
func trees(server, store int) Meter {
	return func() (float64, float64) { return tree(server), tree(store) }
}

func tree(pid int) float64 {
	if pid == 0 {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var sum float64
	for _, field := range fields[11:15] { // utime, stime, and those of children that have ended
		count, _ := strconv.ParseFloat(field, 64)
		sum += count / ticks
	}
	for _, child := range children(pid) {
		sum += tree(child)
	}
	return sum
}

func children(pid int) []int {
	var found []int
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// peakMiB is the peak memory of a process and its descendants, in MiB.
func peakMiB(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var sum float64
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			count, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			sum += count / 1024
		}
	}
	for _, child := range children(pid) {
		sum += peakMiB(child)
	}
	return sum
}
