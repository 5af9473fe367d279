// Report reads the events of a test run (go test -json, as gotestsum keeps them), in which failed
// tests may have run twice, and prints how the run ended:
//
//	dist/tests/test.json --> report --> === Flaky ...      tests that failed, then passed
//	                                +-> PASSED FAILED      a line of the file TOTALS
//	                                +-> exit status 1      a test failed for good, or none ran
//
// Rules:
//
//  1. The last result of a test counts.
//  2. A test that failed and then passed counts as passed, and is flaky: it is printed with the
//     output of its first failure.
//  3. A test that began and has no result counts as failed.
//  4. A package that fails without a failed test (it does not build, TestMain fails), or that ends
//     while a test runs (a panic, its time limit), counts as one failed test. A second run of tests
//     cannot change that, because the other tests of the package have not run.
//
// Tests and their subtests are counted alike. Report does not run tests.
package main
