// The work of Millstream's benches on Go's channels, with slices of many items, so that one hand-over serves all of
// them.
//
// A line "WORKLOAD WHO ITEMS SIZE" on standard input is one go. The answer is a line of two numbers: the nanoseconds it
// took, with the start of goroutines and channels, and the checksum.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

// The items of one slice.
const chunk = 1024

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var workload, who string
		var items uint64
		var size int
		_, err := fmt.Sscan(lines.Text(), &workload, &who, &items, &size)
		work := find(workload, who)
		if err != nil || work == nil {
			fmt.Fprintf(os.Stderr, "millstream-go-peers: no rival has the task `%s`\n", lines.Text())
			os.Exit(2)
		}
		started := time.Now()
		checksum := work(items, size)
		fmt.Println(time.Since(started).Nanoseconds(), checksum)
	}
}

func find(workload, who string) func(uint64, int) uint64 {
	switch workload + " " + who {
	case "hop go-slices":
		return hop
	case "chain3 go-slices":
		return chain3
	case "shard2-ordered go-slices":
		return ordered
	}
	return nil
}

func hop(items uint64, size int) uint64 {
	return sum(source(items, size))
}

func chain3(items uint64, size int) uint64 {
	first := mapped(source(items, size), size, func(x uint64) uint64 { return x*3 + 1 })
	return sum(mapped(first, size, func(x uint64) uint64 { return x ^ (x >> 7) }))
}

// Two goroutines take every second slice each; the results are read in turn.
func ordered(items uint64, size int) uint64 {
	inputs := [2]chan []uint64{make(chan []uint64, size), make(chan []uint64, size)}
	var outputs [2]<-chan []uint64
	for i, input := range inputs {
		outputs[i] = mapped(input, size, rounds)
	}
	go func() {
		turn := 0
		for slice := range source(items, size) {
			inputs[turn] <- slice
			turn = 1 - turn
		}
		close(inputs[0])
		close(inputs[1])
	}()
	var joined uint64
	for turn := 0; ; turn = 1 - turn {
		slice, open := <-outputs[turn]
		if !open {
			return joined
		}
		for _, x := range slice {
			joined = joined*31 + x
		}
	}
}

func source(items uint64, size int) <-chan []uint64 {
	out := make(chan []uint64, size)
	go func() {
		for next := uint64(0); next < items; {
			end := min(next+chunk, items)
			slice := make([]uint64, 0, chunk)
			for ; next < end; next++ {
				slice = append(slice, next)
			}
			out <- slice
		}
		close(out)
	}()
	return out
}

// A stage with a goroutine of its own, which changes the slices in place.
func mapped(in <-chan []uint64, size int, f func(uint64) uint64) <-chan []uint64 {
	out := make(chan []uint64, size)
	go func() {
		for slice := range in {
			for i, x := range slice {
				slice[i] = f(x)
			}
			out <- slice
		}
		close(out)
	}()
	return out
}

func sum(in <-chan []uint64) uint64 {
	var total uint64
	for slice := range in {
		for _, x := range slice {
			total += x
		}
	}
	return total
}

// The rounds of xorshift that take about 1.2 microseconds.
func rounds(x uint64) uint64 {
	x |= 1 << 63
	for i := 0; i < 720; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
