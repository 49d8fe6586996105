import { resolve } from 'node:path';
import { updateEndpoint } from '../../endpoints/write-endpoint.ts';
import type { Endpoint } from '../../records/kinds.ts';
import { ApiClient, ApiRefusal } from '../../shared/api-client.ts';
import type { CommandOutput } from '../../shared/cli-pieces.ts';
import { printLog } from '../dev-log.ts';
import type { DevOptions } from '../dev-options.ts';
import { openDevPage } from '../dev-page.ts';
import {
  buildRemote,
  createRemote,
  LEASE_SECONDS,
  planRemote,
  type RemotePlan,
  remove,
  renew,
} from './remote-endpoint.ts';
import { type FolderState, RemoteFolder } from './remote-folder.ts';
import { sendFiles } from './send-files.ts';

const RENEW_MS = (LEASE_SECONDS * 1_000) / 4;
/** How often it looks for workers that lack files. */
const LOOK_MS = 500;
const DEPENDENCIES = /(^|\/)[^/]+\.(txt|toml|lock|json|ya?ml)$/;
/** How long the end may take. The server does it anyway, once the lease has ended. */
const END_MS = 10_000;

/**
 * Serves a folder by one worker of a server, until Ctrl-C: files are sent there as they change, and what it logs is printed. The
 * endpoint goes with the command, however that ends: at once, or when its lease ends.
 */
export async function serveRemote(
  client: ApiClient,
  path: string,
  options: DevOptions,
  output: CommandOutput,
): Promise<void> {
  const root = resolve(path);
  const plan = await planRemote(client, root, options, output);
  const endpoint = await createRemote(client, plan, await buildRemote(client, root, plan, output));
  const page = await openDevPage(client.target, { ...endpoint, type: kindOf(endpoint) });
  const { interrupted, env } = output.terminal;
  const over = new AbortController();
  const ending = AbortSignal.any([over.signal, interrupted]);
  const session = new ApiClient(client.target, { interrupted: ending, env });
  try {
    output.print(welcome(client, endpoint, { root, page: page.url }));
    await Promise.race([
      keepLease(session, endpoint, ending),
      followLog(session, endpoint, ending, output),
      new RemoteSync(session, root, { endpoint, plan, options }, output).run(ending),
    ]);
  } finally {
    over.abort();
    page.close();
    const last = new ApiClient(client.target, { interrupted: AbortSignal.timeout(END_MS), env }); // after Ctrl-C
    await remove(last, endpoint.id);
  }
}

const kindOf = ({ type }: Endpoint) => (type === 'LOAD_BALANCING' ? type : 'QUEUE');

/** Throws when the endpoint is gone. A server that is out of reach may come back in time. */
async function keepLease(client: ApiClient, { id, name }: Endpoint, ending: AbortSignal): Promise<void> {
  while (!ending.aborted) {
    await pause(RENEW_MS, ending);
    await renew(client, id).catch((error) => {
      if (error instanceof ApiRefusal && error.status === 404)
        throw new Error(
          `the endpoint ${name} (${id}) is gone: it was deleted, or another \`podyard dev --remote\` has taken its place`,
        );
      if (!isPassing(error) && !ending.aborted) throw error;
    });
  }
}

/** Resumes after a restart of the server. */
async function followLog(
  client: ApiClient,
  { id }: Endpoint,
  ending: AbortSignal,
  output: CommandOutput,
): Promise<void> {
  for (let tail = 100; !ending.aborted; tail = 0) {
    await printLog(client, id, output, tail).catch(() => {}); // keepLease says what is wrong
    await pause(LOOK_MS * 2, ending);
  }
}

/** Sends the folder to whichever worker runs, and what changes after that; changed dependencies make a new image. */
class RemoteSync {
  readonly #client: ApiClient;
  readonly #root: string;
  readonly #folder: RemoteFolder;
  readonly #options: DevOptions;
  readonly #output: CommandOutput;
  #endpoint: Endpoint;
  #contentHash: string;
  #args: string | undefined;
  /** The needs of the state that the image was last compared with. */
  #needs: string | undefined;
  /** The state of each worker; null: unknown. */
  #sent = new Map<string, FolderState | null>();
  #isChanged = true;
  #complaint = '';
  #wake = () => {};

  constructor(
    client: ApiClient,
    root: string,
    { endpoint, plan, options }: { endpoint: Endpoint; plan: RemotePlan; options: DevOptions },
    output: CommandOutput,
  ) {
    this.#client = client;
    this.#root = root;
    this.#folder = new RemoteFolder(root);
    this.#options = options;
    this.#output = output;
    this.#endpoint = endpoint;
    this.#contentHash = plan.source.contentHash;
    this.#args = plan.body.args;
  }

  async run(ending: AbortSignal): Promise<void> {
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const leave = this.#folder.watch(() => {
      this.#isChanged = true;
      this.#wake();
    }, reject);
    try {
      await Promise.race([failed, this.#loop(ending)]);
    } finally {
      leave();
    }
  }

  async #loop(ending: AbortSignal): Promise<void> {
    let state: FolderState | undefined;
    while (!ending.aborted) {
      try {
        if (this.#isChanged || state === undefined) {
          this.#isChanged = false;
          state = await this.#folder.read();
          await this.#rebuildIfNeeded(state);
        }
        await this.#sendAll(state);
      } catch (error) {
        if (ending.aborted) return;
        if (error instanceof ApiRefusal && error.status === 403) throw error;
        if (!isPassing(error)) this.#complain((error as Error).message);
      }
      if (!this.#isChanged) await this.#pause(ending);
    }
  }

  /** Once, however often it is tried again. */
  #complain(message: string): void {
    if (message !== this.#complaint) this.#output.note(`! ${message}`);
    this.#complaint = message;
  }

  /** Until the next change, or the next look at the workers. */
  async #pause(ending: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#isChanged) await pause(LOOK_MS, AbortSignal.any([ending, woken.signal]));
  }

  async #rebuildIfNeeded(state: FolderState): Promise<void> {
    const needs = needsOf(state);
    if (needs === this.#needs) return;
    const plan = await planRemote(this.#client, this.#root, this.#options, { ...this.#output, note: () => {} });
    if (plan.source.contentHash !== this.#contentHash || plan.body.args !== this.#args) await this.#rebuild(plan);
    this.#needs = needs;
  }

  async #rebuild(plan: RemotePlan): Promise<void> {
    this.#output.print('… what the code needs has changed: a new worker starts');
    const image = await buildRemote(this.#client, this.#root, plan, this.#output);
    const { args } = plan.body;
    this.#endpoint = await updateEndpoint(this.#client, this.#endpoint, { image, ...(args && { args }) }, {});
    this.#contentHash = plan.source.contentHash;
    this.#args = args;
  }

  async #sendAll(state: FolderState): Promise<void> {
    const endpointId = this.#endpoint.id;
    const { workers } = await this.#client.call('get', '/v2/serverless/{id}/workers', { path: { id: endpointId } });
    const ids = new Set(workers.map(({ id }) => id));
    for (const id of this.#sent.keys()) if (!ids.has(id)) this.#sent.delete(id);
    await Promise.all([...ids].map((workerId) => this.#send(workerId, state)));
  }

  async #send(workerId: string, after: FolderState): Promise<void> {
    const before = this.#sent.get(workerId) ?? null;
    if (before === after) return;
    this.#sent.set(workerId, null); // until it is known to have them
    const place = { endpointId: this.#endpoint.id, workerId };
    try {
      const result = await sendFiles(this.#client, place, this.#root, { before, after });
      if (result === 'done') {
        this.#sent.set(workerId, after);
        this.#complaint = '';
      } else if (result === 'all') await this.#send(workerId, after);
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 409) return; // it does not run yet, or not any more
      throw error;
    }
  }
}

/** Returns what may make another image: which files there are, and the content of those that name packages. */
function needsOf(state: FolderState): string {
  return JSON.stringify([...state.values()].map((entry) => (DEPENDENCIES.test(entry.path) ? entry : entry.path)));
}

/** A server that restarts or is out of reach, and a limit that ends by itself. */
function isPassing(error: unknown): boolean {
  return error instanceof ApiRefusal && (error.status === 0 || error.status === 429 || error.status >= 500);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}

function welcome(
  { target }: ApiClient,
  { id, name, type }: Endpoint,
  { root, page }: { root: string; page: string },
): string {
  const call =
    type === 'LOAD_BALANCING'
      ? `  curl ${target.url}/v2/${id}/lb/ -H "Authorization: Bearer $PODYARD_API_KEY"`
      : `  podyard run ${name} '{"name": "you"}'`;
  return `
${root} is served as ${name}, by a worker of ${target.url}; save a file, and the new code runs there. In another terminal:

${call}

Page to send jobs from: ${page}
Console: ${target.url}/#/endpoints/${id}. Ctrl-C ends it, and deletes the endpoint.
`;
}
