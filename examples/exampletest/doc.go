// Package exampletest runs the programs of examples/ as a user would: each as a process of its own,
// killed with SIGKILL in the middle of its work and started again, on the broker that the test
// gives. It then compares everything that was committed to the outputs with what the inputs demand,
// record by record.
package exampletest
