package config

import "strings"

// Nearest returns the candidate that is most similar to word: the one with the smallest edit
// distance, if the distance is at most a third of the length of word (but 2 is always allowed for
// words of more than three letters, and 1 for shorter ones). Without such a candidate it returns
// one that begins or ends with word. The first of equal candidates wins. ok is false if no
// candidate is similar.
func Nearest(word string, candidates []string) (nearest string, ok bool) {
	limit := max(2, len(word)/3)
	if len(word) <= 3 {
		limit = 1
	}
	w := strings.ToLower(word)
	best := limit + 1
	for _, c := range candidates {
		if d := distance(w, strings.ToLower(c)); d < best {
			best, nearest = d, c
		}
	}
	if nearest != "" || len(w) < 3 {
		return nearest, nearest != ""
	}
	for _, c := range candidates {
		lc := strings.ToLower(c)
		if strings.HasPrefix(lc, w) || strings.HasSuffix(lc, "."+w) || strings.HasSuffix(lc, "_"+w) {
			return c, true
		}
	}
	return "", false
}

// distance is the Damerau-Levenshtein distance (optimal string alignment): an exchange of two
// neighbouring letters is one edit.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
