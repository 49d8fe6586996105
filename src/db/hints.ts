/**
 * Hints between the parts of Podyard, by topic. Each says that something changed, never what: the tables hold the truth. A
 * hint may be lost, so a listener also polls.
 */
interface HintTopics {
  /** An endpoint's row changed or was deleted. Payload: endpoint id. */
  endpoint: string;
  /** Jobs of an endpoint were queued or ended, and the scaler may have to act. Payload: endpoint id. */
  demand: string;
  /** A worker became ready: its release's trial may be over. Payload: endpoint id. */
  ready: string;
  /** A job was queued, and no worker of the submitting process is waiting for one. Payload: endpoint id. */
  queued: string;
  /** A batch was finalized, changed or cancelled. Payload: its endpoint's id. */
  batch: string;
  /** A worker's row changed (wanted state, readiness). Payload: worker id. */
  worker: string;
  /** An admin wants a model fetched, kept or removed, or a fetch began. Payload: the model's id, if it is known. */
  model: string;
  /** A build was created, cancelled, began or ended. Payload: build id. */
  build: string;
  /** A build printed something, or one of its steps changed: often, and no control loop needs to know. Payload: build id. */
  buildOutput: string;
  /** A git source was connected or changed, or is to be looked at. Payload: its id. */
  git: string;
  /** A pod's row changed: its wanted state, status, address or ports. Payload: pod id. */
  pod: string;
  /** A cluster's row changed: its wanted state, its name or its phase. Payload: cluster id. */
  cluster: string;
  /** A terminal session has to end. Payload: session id. */
  terminal: string;
  /** A worker has to stop a job. Payload: worker id. */
  jobStop: string;
  /** A job that another process waits for ended or streamed a chunk. Payload: process id, space, job id. */
  job: string;
  /** Log lines of a workload were stored. Payload: workload id. */
  log: string;
  /** A key was created, changed or revoked. Payload: key id. */
  key: string;
  /** A session of a browser ended. Payload: session id. */
  session: string;
  /** A user was suspended, resumed, changed, handed over or is to be deleted. Payload: user id. */
  user: string;
  /** Limits or quotas changed. Payload: user id; empty for the installation's. */
  limits: string;
  /** A budget was set, changed or removed. Payload: budget id. */
  budget: string;
  /** A secret was created or changed: workloads that wait for it can start. Payload: user id. */
  secret: string;
  /** A network volume was deleted: its files can be removed. Payload: volume id. */
  volume: string;
  /** A request for the files of a network volume that no program serves yet. Payload: volume id. */
  files: string;
  /** A webhook is due. Payload: empty. */
  webhook: string;
  /** The simulation changed, or an incident is pending. Payload: empty. */
  simulation: string;
  /** The database's clock jumped, and times in rows were moved along. Payload: empty. */
  clock: string;
  /** A Podyard process came or went. Payload: process id. */
  process: string;
}
export type HintTopic = keyof HintTopics;

/** The NOTIFY channel of all hints. */
export const HINT_CHANNEL = 'podyard';

/** Topics that only processes with the role `data` listen to. */
export const DATA_TOPICS: ReadonlySet<HintTopic> = new Set(['queued', 'job', 'jobStop']);

/** Returns a hint as it travels. */
export function formatHint(from: string, topic: HintTopic, payload: string): string {
  return JSON.stringify([from, topic, payload]);
}

/** Reads what `formatHint` wrote; undefined for anything else, because any user of the database may notify. */
export function parseHint(text: string): { from: string; topic: string; payload: string } | undefined {
  try {
    const [from, topic, payload] = JSON.parse(text) as unknown[];
    if (typeof from !== 'string' || typeof topic !== 'string' || typeof payload !== 'string') return undefined;
    return { from, topic, payload };
  } catch {
    return undefined;
  }
}
