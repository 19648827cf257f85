"""How Spark is set up where it runs for a short time, as it does in tests."""

# Tests end before the slower of Java's compilers has paid: a small job takes 144 ms of processor time, not 393.
SHORT = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
