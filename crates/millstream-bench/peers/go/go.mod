module millstream.dev/peers

go 1.21
