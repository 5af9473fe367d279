// Package lint checks the rules of this repository that no linter knows. Its tests run the checks
// on every file.
//
//	go list ──────▶ []Package ─▶ CheckImports ────┐
//	git ls-files ─▶ []File ────▶ CheckEvents ─────┤
//	                          ├▶ CheckInvariants ─┤
//	                          ├▶ CheckTags ───────┤
//	                          ├▶ CheckText ───────┼─▶ complaints
//	                          ├▶ CheckWidth ──────┤
//	                          ├▶ CheckCodeWidth ──┤
//	                          ├▶ CheckWords ──────┤
//	                          └▶ CheckWrites ─────┘
//
// A complaint states the place, what is wrong, the reason of the rule, and what to write instead.
//
// The checks are pure functions, so that their own tests can give them files that break each rule.
//
// What golangci-lint can check is in .golangci.yml and not here: lengths of files and functions,
// numbers of parameters, init functions, package-level variables, package comments.
package lint
