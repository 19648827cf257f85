// What is known, and who is told when it changes: at most once per frame, and only then.

export const known = {
  session: null, // who is logged in; null while that is not known
  needsToken: false,
  phase: "connecting", // connecting, live, lost
  heardAt: 0, // when anything was heard last, by the clock of the page
  reason: "",
  vitals: null,
  beside: null, // pipelines and brokers, which run beside the server
  history: [], // one entry per second, for the charts
  stream: null, // the name of the stream that is looked at
  tops: new Map(), // by subscription: publications with their scores, best first
  left: new Map(), // by subscription: what left its top lately
  story: [], // the last changes of tops, the latest last
  step: "",
  changes: 0,
  rows: new Map(), // publications as they were sent, by id, the latest last
  arrivals: [], // the same, with the time of their arrival on this page
  objects: new Map(), // families whose publications tell of objects: each as it was told last, and what it was before
  turn: 0, // how often an object was told of
  answers: new Map(), // families whose answers do not stand: what publications were answered, the latest last
  paused: null, // what was shown when somebody paused
};

const watchers = new Set();
let waiting = false;

export function watch(told) {
  watchers.add(told);
  return () => watchers.delete(told);
}

export function touch() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const told of watchers) told();
  });
}

export function forgetStream() {
  known.tops = new Map();
  known.left = new Map();
  known.rows = new Map();
  known.arrivals = [];
  known.objects = new Map();
  known.answers = new Map();
  known.story = [];
  known.step = "";
  known.paused = null;
}

export const theStream = () => known.vitals?.streams.find((stream) => stream.name === known.stream) || null;
