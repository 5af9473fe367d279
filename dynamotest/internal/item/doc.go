// Package item has the values of DynamoDB's attributes and the items made of them.
package item
