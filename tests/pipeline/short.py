"""How Spark is set up where it runs for a short time, as it does in tests."""

# Tests end before the slower of Java's compilers has paid.
SHORT = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
