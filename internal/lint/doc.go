// Package lint checks the rules of this repository that no linter knows. Its tests run the checks on every file.
//
//	go list ─▶ []Package ─▶ CheckImports ─┐
//	git ls-files ─▶ []File ─▶ CheckEvents ─┼─▶ complaints, each with what to use instead
//	                       ├▶ CheckTags ──┤
//	                       ├▶ CheckText ──┤
//	                       └▶ CheckWrites ┘
//
// The checks are pure functions, so that their own tests can show them a tree that breaks each rule: a check that
// cannot fail is worth nothing.
//
// What golangci-lint can check is in .golangci.yml and not here: lengths of files and functions, numbers of parameters,
// init functions, package-level variables, package comments.
package lint
