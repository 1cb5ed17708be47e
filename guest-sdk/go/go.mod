module toolgate.local/sdk

go 1.26
