package config

import "time"

// Config is the effective configuration, from Load or Default. The zero value is not valid.
//
// The tags of a setting are key (within its section), default, unit (for documentation), min and
// max (inclusive, in the notation of the field), oneof (allowed values), check (the name of a
// format, see formatOf), source:"env" (not allowed in the file or as a flag) and doc.
type Config struct {
	DC       string `key:"dc" default:"local" check:"dc" doc:"name of this datacentre. Topic names contain it, so it must not change later"`
	DataDir  string `key:"data_dir" default:"data" unit:"path" check:"nonempty" doc:"directory for the state on disk. Only one process can use it at a time. Give an absolute path: another is relative to the working directory, so a start from another directory restores the state from the changelog again"`
	Instance string `key:"instance" default:"" check:"instance" doc:"stable name of this process. Its Kafka transactions and its state belong to this name. Empty: the host name"`
	Memory   Bytes  `key:"memory" default:"768MiB" unit:"bytes" min:"128MiB" max:"1TiB" doc:"memory budget for cached campaigns, caches and buffers. Campaigns beyond the budget are read from disk. weir config memory shows how the budget is divided"`

	Kafka     Kafka     `key:"kafka"`
	API       API       `key:"api"`
	Log       Log       `key:"log"`
	Processor Processor `key:"processor"`
	Spend     Spend     `key:"spend"`
	Leases    Leases    `key:"leases"`
	Jobs      Jobs      `key:"jobs"`
	Topics    Topics    `key:"topics"`

	DCs []DC `key:"dcs" default:"" unit:"datacentres" check:"ring" doc:"the ring: all datacentres, this one included, in the same order everywhere; a new one comes at the end. Each has a name, brokers, tls and sasl as in section kafka, and rate, the maximum number of bytes per second that a process copies of it (0: no maximum), or is name=host:port+host:port. Events and adjustments of the others arrive as copies in the topics ads.events.from.NAME and ads.adjustments.from.NAME. Each datacentre writes its totals into the next two of the ring, as spend.from.NAME. Without a setting in section kafka, the item of this datacentre is used for it"`

	entries []Entry
}

// Kafka configures the connection to the brokers.
type Kafka struct {
	Brokers []string `key:"brokers" default:"127.0.0.1:9092" unit:"host:port list" check:"hostport" doc:"addresses of some brokers of the Kafka cluster (bootstrap servers)"`
	TLS     TLS      `key:"tls"`
	SASL    SASL     `key:"sasl"`
}

// TLS configures the encryption of the connection to Kafka.
type TLS struct {
	Enabled  bool   `key:"enabled" default:"false" doc:"encrypt the connection to Kafka by TLS and verify the certificates of the brokers"`
	CAFile   string `key:"ca_file" default:"" unit:"path" doc:"PEM file of the certificate authorities (CAs) that sign the certificates of the brokers. Empty: the CAs of the operating system"`
	CertFile string `key:"cert_file" default:"" unit:"path" doc:"PEM file of the client certificate, if the brokers require one (mutual TLS)"`
	KeyFile  string `key:"key_file" default:"" unit:"path" doc:"PEM file of the private key of kafka.tls.cert_file"`
}

// SASL configures the authentication at the brokers. Credentials returns the password.
type SASL struct {
	Mechanism    string `key:"mechanism" default:"" oneof:",PLAIN,SCRAM-SHA-256,SCRAM-SHA-512" doc:"SASL mechanism for authentication at the brokers. Empty: no authentication"`
	User         string `key:"user" default:"" doc:"user name for SASL"`
	Password     Secret `key:"password" default:"" source:"env" doc:"password for SASL. It is read from the environment only"`
	PasswordFile string `key:"password_file" default:"" unit:"path" doc:"file that contains the password for SASL. It is read again for each connection, so that the password can be rotated"`
}

// API configures the listeners of this process and its requests to other processes.
type API struct {
	Listen      string `key:"listen" default:"127.0.0.1:8080" unit:"host:port" check:"listen" doc:"address on which this process serves the API. Port 0 selects a free port. An address that other machines can reach requires TLS and a token"`
	Advertise   string `key:"advertise" default:"" unit:"host:port" check:"advertise" doc:"address at which other processes reach the API of this process, for example that of a proxy. Empty: api.listen"`
	OpsListen   string `key:"ops_listen" default:"127.0.0.1:8081" unit:"host:port" check:"listen" doc:"address on which this process serves health checks and metrics"`
	TLSCertFile string `key:"tls_cert_file" default:"" unit:"path" doc:"PEM file of the TLS certificate for api.listen and api.ops_listen. It is read again for each connection, so that the certificate can be rotated. Empty: no TLS"`
	TLSKeyFile  string `key:"tls_key_file" default:"" unit:"path" doc:"PEM file of the private key of api.tls_cert_file"`
	CAFile      string `key:"ca_file" default:"" unit:"path" doc:"PEM file of the certificate authorities (CAs) that sign the API certificates of the other processes, for processes and commands. Empty: the CAs of the operating system"`
	TokenFile   string `key:"token_file" default:"" unit:"path" doc:"file with the bearer token, at least 16 bytes, that callers of the API must send. All processes and commands need the same token. Empty: no token"`
}

// Log configures the log of the process.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"trace,debug,info,warn,error" doc:"minimum level of the log lines that are written. trace includes the requests to Kafka"`
	Format string `key:"format" default:"auto" oneof:"auto,console,json" doc:"format of the log: console writes text, json writes one JSON object per line, auto is console on a terminal and else json"`
}

// Processor configures the transactions and the consumer group of the runtime.
type Processor struct {
	CommitInterval     time.Duration `key:"commit_interval" default:"100ms" unit:"duration" min:"5ms" max:"1m" doc:"time between commits of a processor that has caught up with its input. Answers are up to this old"`
	CommitIntervalMax  time.Duration `key:"commit_interval_max" default:"1s" unit:"duration" min:"5ms" max:"1m" doc:"time between commits of a processor that is far behind its input. Longer transactions cost less per record"`
	CommitRecords      int           `key:"commit_records" default:"2000000" unit:"records" min:"1" max:"100000000" doc:"number of input records after which a transaction commits early"`
	CommitBytes        Bytes         `key:"commit_bytes" default:"32MiB" unit:"bytes" min:"64KiB" max:"4GiB" doc:"size of the uncommitted state changes in memory, over all workers, at which transactions commit early"`
	PollRecords        int           `key:"poll_records" default:"10000" unit:"records" min:"1" max:"1000000" doc:"maximum number of records that one poll of Kafka returns"`
	Workers            int           `key:"workers" default:"0" unit:"sessions" min:"0" max:"256" doc:"number of Kafka consumers with their own transactions and goroutine in this process. 0: the number of CPUs, at least 4"`
	Standbys           int           `key:"standbys" default:"0" unit:"processes" min:"0" max:"2" doc:"number of other processes that keep a copy of each partition's state up to date (standby replicas), so that one of them takes over at once. Each copy costs disk space and network traffic"`
	SessionTimeout     time.Duration `key:"session_timeout" default:"6s" unit:"duration" min:"1s" max:"30m" doc:"time after which Kafka reassigns the partitions of a process that sends no heartbeats. By default brokers accept 6s to 30m"`
	TransactionTimeout time.Duration `key:"transaction_timeout" default:"10s" unit:"duration" min:"1s" max:"15m" doc:"time after which the broker aborts an open transaction"`
	ShutdownTimeout    time.Duration `key:"shutdown_timeout" default:"20s" unit:"duration" min:"1s" max:"10m" doc:"time limit for a shutdown, in which the process drains requests, commits and leaves the consumer group"`
}

// Spend configures the spend counter.
type Spend struct {
	Partitions      int           `key:"partitions" default:"24" unit:"partitions" min:"1" max:"1024" doc:"number of partitions of each topic of the spend counter. Producers and processes spread accounts by it and need the same value. Another number requires new topics and the command weir repartition"`
	Generation      int           `key:"generation" default:"1" unit:"number" min:"1" max:"1000" doc:"generation of the topics of the spend counter. The topics of generation 2 have names that end in .g2. The command weir repartition moves the state to another generation"`
	DuplicateWindow time.Duration `key:"duplicate_window" default:"10m" unit:"duration" min:"1ms" max:"24h" doc:"allowed lateness of events: an event that is ingested within this time of its own event time is checked for duplicates. A later event is late, see spend.late_events. All datacentres need the same value"`
	LateEvents      string        `key:"late_events" default:"charge" oneof:"charge,reject" doc:"late events, which cannot be checked for duplicates: charge charges and counts them, reject writes them to the dead-letter topic. All datacentres need the same value"`
	Hours           bool          `key:"hours" default:"false" doc:"count charges and events also by the hour of their event time. All replicas need the same value"`
	Parts           int           `key:"parts" default:"0" unit:"rows" min:"0" max:"1000" doc:"number of pairs of line item and arm by which charges and events of each campaign day are also counted; one more row has the other pairs. 0: not at all. All replicas need the same value"`
	Retention       time.Duration `key:"retention" default:"0s" unit:"duration" min:"0s" max:"87600h" doc:"how long the rows of a budget day are kept after the day has ended in all time zones, by the ingest times of the events. Then they are added to one row for each campaign and currency, as are events and adjustments of that day that arrive later. 0s: for ever. All replicas need the same value"`
	BillAfter       time.Duration `key:"bill_after" default:"48h" unit:"duration" min:"0s" max:"840h" doc:"time after the end of a budget day in which its spend may still arrive, by the ingest times of the events. Then the role pacing bills the day: it writes to spend.billed what of the spend of each campaign the budgets of the day allow. 0s: never. All processes with the role need the same value"`
	MaxIDs          int           `key:"max_ids" default:"4000000" unit:"ids" min:"1000" max:"1000000000" doc:"maximum number of event ids in memory per partition, at 11 to 21 bytes each. More ids are read from disk when an event needs them. A span of about 2 minutes with more than half of them forgets ids early, which a metric counts. All replicas need the same value"`
}

// Jobs configures the job queues.
type Jobs struct {
	Partitions int `key:"partitions" default:"8" unit:"partitions" min:"1" max:"1024" doc:"number of partitions of the topics of job queues. A queue has one of them, or as many as it was created with. Another number requires new topics"`
}

// Leases configures the table of leases and the roles that maintain it. The default regions are
// those of weir dev.
type Leases struct {
	Table      string        `key:"table" default:"weir-leases" check:"table" doc:"name of the DynamoDB table of the leases"`
	Regions    []string      `key:"regions" default:"eu-west-1=http://127.0.0.1:8000,us-east-1=http://127.0.0.1:8001,us-west-2=http://127.0.0.1:8002" unit:"regions" check:"region" doc:"regions with a replica of the table, in the same order in all processes. Each is a name, or name=URL to use a DynamoDB endpoint other than that of AWS"`
	Home       string        `key:"home" default:"" unit:"region" doc:"home region: the only region through which settings and new resources are written. All processes need the same value. The command weir region home moves it. Empty: the first of leases.regions"`
	Region     string        `key:"region" default:"" unit:"region" doc:"region in which commands lease resources, and whose executor weir run starts. Empty: the first of leases.regions for commands, the executors of all regions for weir run"`
	Skew       time.Duration `key:"skew" default:"500ms" unit:"duration" min:"50ms" max:"1m" doc:"maximum difference between the clocks of any two machines. All processes need the same value. A resource that moves to another region is unavailable for four times this time plus leases.executor.timeout"`
	Partitions int           `key:"partitions" default:"12" unit:"partitions" min:"1" max:"1024" doc:"number of partitions of each lease topic. Another number requires new topics"`
	Timeout    time.Duration `key:"timeout" default:"2s" unit:"duration" min:"50ms" max:"1m" doc:"time limit for a DynamoDB request of a command or agent. Executors and bridges have settings of their own"`

	Executor  LeaseExecutor  `key:"executor"`
	Bridge    LeaseBridge    `key:"bridge"`
	Liberator LeaseLiberator `key:"liberator"`
	Balancer  LeaseBalancer  `key:"balancer"`
}

// LeaseExecutor configures the executors, which execute the commands in a region.
type LeaseExecutor struct {
	Timeout     time.Duration `key:"timeout" default:"1s" unit:"duration" min:"50ms" max:"10s" doc:"time limit for a DynamoDB request of an executor, which writes the commands of liberator and balancer to the table in its region. Raise it if requests take longer. A resource that moves to another region is unavailable for this time plus four times leases.skew"`
	Concurrency int           `key:"concurrency" default:"64" unit:"commands" min:"1" max:"1024" doc:"maximum number of commands that the executor of a region executes at the same time"`
	Rate        int           `key:"rate" default:"0" unit:"requests per second" min:"0" max:"1000000" doc:"maximum number of DynamoDB requests per second of the executor of a region. 0: the executor adapts to what the table accepts"`
}

// LeaseBridge configures the bridges, which copy the changes of the table to Kafka.
type LeaseBridge struct {
	Timeout  time.Duration `key:"timeout" default:"10s" unit:"duration" min:"1s" max:"1m" doc:"time limit for a DynamoDB request of a bridge, which copies the changes of the table to Kafka"`
	ScanRate int           `key:"scan_rate" default:"5000" unit:"rows per second" min:"10" max:"1000000" doc:"number of rows per second that a repair scan of the table reads. Such a scan runs on request and after a DynamoDB stream has lost records. DynamoDB charges one read unit per 4 KB"`
	Sweep    time.Duration `key:"sweep_interval" default:"24h" unit:"duration" min:"0s" max:"720h" doc:"interval in which the whole table is read once, continuously, to find changes that a DynamoDB stream lost without an error. 0s: never"`
}

// LeaseLiberator configures the liberator, which releases the resources of expired leases.
type LeaseLiberator struct {
	Rate int `key:"bucket_rate" default:"200" unit:"resources per second" min:"1" max:"1000000" doc:"maximum number of resources per second that the liberator, which ends expired leases, makes available again in one bucket of a pool in a region. A bucket is a partition key of the table: DynamoDB accepts 1000 writes per second of each"`
}

// LeaseBalancer configures the balancer, which moves free resources between regions.
type LeaseBalancer struct {
	Every      time.Duration `key:"plan_interval" default:"10s" unit:"duration" min:"100ms" max:"1h" doc:"interval of the plans of a pool, by which the balancer moves free resources between regions"`
	Tick       time.Duration `key:"tick_interval" default:"1s" unit:"duration" min:"100ms" max:"1m" doc:"interval in which the balancer checks for pools whose free resources run out in a region"`
	Cap        int           `key:"max_moved" default:"100" unit:"resources" min:"1" max:"1000000" doc:"maximum number of resources that one plan of a pool moves. leases.balancer.max_moved_percent applies instead if it allows more"`
	CapPercent int           `key:"max_moved_percent" default:"25" unit:"percent" min:"1" max:"100" doc:"maximum percentage of a pool's free resources that one plan moves. leases.balancer.max_moved applies instead if it allows more"`
	Evacuate   int           `key:"evacuate" default:"1000" unit:"resources" min:"1" max:"1000000" doc:"maximum number of resources that one plan of a pool moves out of a region while the region is evacuated, that is, emptied of resources"`
}

// Topics configures the topics that weir creates.
type Topics struct {
	ReplicationFactor int `key:"replication_factor" default:"3" unit:"copies" min:"1" max:"15" doc:"number of replicas of each partition of the topics that weir creates. Use 1 for a cluster with a single broker"`
	MinInSync         int `key:"min_insync" default:"2" unit:"copies" min:"1" max:"15" doc:"number of replicas that must have written a record before Kafka acknowledges it (min.insync.replicas)"`
}
