package main

// sequences are changes by the numbers of values: each value, followed by
// another one by chance, and each that does not run in the middle between one
// that does and its return.
func (t trial) sequences(twins []*twin) [][]int {
	var all [][]int
	var good []int
	for i, twin := range twins {
		if twin.outcome == runs {
			good = append(good, i)
		}
	}
	for i, twin := range twins {
		if j := t.random.IntN(len(twins)); j != i {
			all = append(all, []int{i, j})
		} else {
			all = append(all, []int{i, (i + 1) % len(twins)})
		}
		if len(good) == 0 {
			continue
		}
		former := good[t.random.IntN(len(good))]
		if twin.outcome != runs {
			all = append(all, []int{former, i, former})
		}
	}
	if len(good) > 1 {
		a, b := good[0], good[len(good)-1]
		all = append(all, []int{a, b, a})
	}
	return all
}
