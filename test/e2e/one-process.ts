import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';

const WITHIN_MS = 30_000;

export interface OneAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any answer
  body: any;
  text: string;
  /** Identifies the process that answered. */
  process: string;
}

/** A client with one connection, so that one of the processes that share the port answers everything until it ends. */
export class OneProcessClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;
  readonly #key: string;

  constructor(server: { url: string; key: string }) {
    this.#url = server.url;
    this.#key = server.key;
  }

  /** Returns one client per process. Waits for processes that are still starting. */
  static async ofEach(server: { url: string; key: string }, processes: number): Promise<OneProcessClient[]> {
    const found = new Map<string, OneProcessClient>();
    const deadline = Date.now() + WITHIN_MS;
    while (found.size < processes) {
      if (Date.now() > deadline) throw new Error(`only ${found.size} processes answer`);
      const client = new OneProcessClient(server);
      const answer = await client.call('GET', '/healthz');
      if (found.has(answer.process)) client.close();
      else found.set(answer.process, client);
    }
    return [...found.values()];
  }

  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<OneAnswer> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const outgoing = request(`${this.#url}${path}`, {
        method,
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${this.#key}`,
          ...(sent === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
          ...headers,
        },
        timeout: 60_000,
      });
      outgoing.on('error', reject);
      outgoing.on('response', async (response) => {
        const chunks: Buffer[] = [];
        try {
          for await (const chunk of response) chunks.push(chunk as Buffer);
        } catch (error) {
          return reject(error);
        }
        const text = Buffer.concat(chunks).toString();
        const isJson = response.headers['content-type']?.includes('json');
        const process = String(response.headers['x-request-id']).split('-')[0]!;
        resolve({ status: response.statusCode!, text, body: isJson ? JSON.parse(text) : undefined, process });
      });
      outgoing.end(sent);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Returns the process ids of the data processes. */
export async function dataProcessesOf(server: { pid: number }): Promise<number[]> {
  const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').catch(() => '');
  const pids = children.split(' ').filter(Boolean).map(Number);
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, i) => commands[i]!.includes('/data-process.'));
}

export async function isGone(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat === '' || / Z /.test(stat.slice(stat.lastIndexOf(')')));
}
