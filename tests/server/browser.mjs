// What the tests let a page, or Node, do with the module for browsers: everything once, with connections that are cut.

export async function everything({ Skyband, StandingTops, ServerProblem }, address, cut) {
  const near = (id, x, k) => ({ id, k, score: "euclidean", point: [x] });
  const point = (id, x) => ({ id, ts: 1, point: [x] });
  const skyband = new Skyband(address);
  const told = {};

  await skyband.openStream("t", "window");
  await skyband.subscribe("t", [near("ann", 5, 3), near("a/b c", 0, 1)]);
  const rows = Array.from({ length: 2500 }, (_, i) => point(i, i));
  told.published = await skyband.publish("t", rows);
  told.streams = (await skyband.streams()).map((stream) => stream.name);
  told.subscriptions = (await skyband.subscriptions("t")).map((row) => row.id);
  told.preview = (await skyband.preview("t", near("x", 7, 1))).get("x");
  told.why = await skyband.explain("t", "ann", 7);
  await skyband.put("t", near("bob", 3, 1));
  await skyband.resize("t", "bob", 2);
  told.bob = await skyband.top("t", "bob");
  await skyband.retract("t", [3, 4]);
  told.unsubscribed = (await skyband.unsubscribe("t", "bob")).unsubscribed;
  try {
    await skyband.publish("t", [{ id: 1, ts: "soon", point: [1] }]);
  } catch (error) {
    told.problem = [error instanceof ServerProblem, error.status, error.kind, error.rejects[0].column];
  }

  const tops = new StandingTops();
  const ending = new AbortController();
  let n = 0;
  for await (const event of skyband.follow("t", { ids: ["ann"], signal: ending.signal })) {
    tops.take(event);
    if (event.type !== "ready" && event.type !== "changes") continue;
    if (n < 12) {
      n += 1;
      // One behind the other, and cut between them: what is missed has to be told later.
      await skyband.publish("t", [point(10_000 + n, 5 + 1 / n)]);
      if (n % 4 === 0) await cut();
    } else if (JSON.stringify(tops.of("ann")) === JSON.stringify(await skyband.top("t", "ann"))) {
      ending.abort();
    }
  }
  told.top = tops.of("ann");

  told.heard = await new Promise((resolve) => {
    const stop = skyband.listen("t", (event) => { stop(); resolve(event.type); }, { mode: "latest", rate: 10 });
  });
  const over = skyband.follow("t");
  await over.next();
  await skyband.dropStream("t");
  try {
    for (;;) await over.next();
  } catch (error) {
    told.over = [error.name, error.message];
  }
  try {
    for await (const event of skyband.follow("t")) told.followed = event;
  } catch (error) {
    told.refused = [error.name, error.status, error.kind];
  }
  return told;
}
