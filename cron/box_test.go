package cron

const boxRole = "CRON_TEST_BOX"

func serveBox() {}
