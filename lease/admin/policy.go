package admin

import (
	"encoding/json"
	"fmt"

	leasetable "github.com/weirhq/weir/lease/table"
)

// Role is a role that accesses the table.
type Role string

// The roles.
const (
	RoleAgent Role = "agent" // leases
	RoleAdmin Role = "admin" // settings and resources
	RoleTable Role = "table" // makes the table and its replicas
	RoleLoop  Role = "loop"  // bridge, executor, and the renewal of write leases
)

// Roles returns all roles.
func Roles() []Role { return []Role{RoleAgent, RoleAdmin, RoleTable, RoleLoop} }

type policy struct {
	Version   string
	Statement []statement
}

type statement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource []string
}

// Policy returns the IAM policy of a role as JSON. account is an AWS account number, or * for any.
func Policy(role Role, table, account string) (string, error) {
	arn := fmt.Sprintf("arn:aws:dynamodb:*:%s:table/%s", account, table)
	var list []statement
	switch role {
	case RoleAgent:
		list = []statement{
			{"Leases", "Allow", []string{"dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"}, []string{arn}},
			{"Candidates", "Allow", []string{"dynamodb:Query"}, []string{arn + "/index/" + leasetable.AvailableIndex}},
		}
	case RoleAdmin:
		list = []statement{
			{"Rows", "Allow", []string{
				"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem",
				"dynamodb:DeleteItem", "dynamodb:PartiQLInsert", "dynamodb:DescribeTable",
			}, []string{arn}},
			{"Candidates", "Allow", []string{"dynamodb:Query"}, []string{arn + "/index/" + leasetable.AvailableIndex}},
			{
				"History", "Allow",
				[]string{"dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords"},
				[]string{arn + "/stream/*"},
			},
		}
	case RoleLoop:
		list = []statement{
			{"Rows", "Allow", []string{
				"dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DescribeTable",
			}, []string{arn}},
			{
				"Streams", "Allow",
				[]string{"dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords"},
				[]string{arn + "/stream/*"},
			},
			// AWS does not support a resource for this action.
			{"StreamNames", "Allow", []string{"dynamodb:ListStreams"}, []string{"*"}},
		}
	case RoleTable:
		list = []statement{
			{
				"Table", "Allow",
				[]string{"dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:UpdateTable"},
				[]string{arn, arn + "/index/*"},
			},
			// AWS needs these actions to add a replica, because it copies the items.
			{"Replicas", "Allow", []string{
				"dynamodb:CreateTableReplica", "dynamodb:Scan", "dynamodb:Query", "dynamodb:GetItem", "dynamodb:PutItem",
				"dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem",
			}, []string{arn}},
			{
				"ReplicationRole", "Allow",
				[]string{"iam:CreateServiceLinkedRole"},
				[]string{"arn:aws:iam::*:role/aws-service-role/replication.dynamodb.amazonaws.com/*"},
			},
		}
	default:
		return "", fmt.Errorf("%w: no role is called %q: use one of %v", ErrInvalid, role, Roles())
	}
	text, err := json.MarshalIndent(policy{"2012-10-17", list}, "", "  ")
	return string(text), err
}
