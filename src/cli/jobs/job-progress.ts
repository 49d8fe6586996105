import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';

const DRAW_EVERY_MS = 200;
const ASK_EVERY_MS = 1_000;
/** Why a queued job waits, by stage. */
const STAGES: Record<string, string> = {
  queue: 'other jobs are ahead of it',
  worker: 'a worker is about to start',
  thaw: 'a frozen worker is thawing',
  capacity: 'a worker is waiting for capacity',
  pull: 'a worker is pulling its image',
  create: 'a container is being created',
  start: 'a container is starting',
  ready: 'a worker is loading',
};

interface Explained {
  status: string;
  workerId?: string;
  explain: { attempts: { stages: { stage: string; reason: string | null }[] }[] };
}

/**
 * Reports on stderr what a job waits for, from the first second on: on a terminal in one line that is redrawn, elsewhere in a
 * line for each state. `stop` clears the line.
 */
export class JobProgress {
  readonly #client: ApiClient;
  readonly #path: string;
  readonly #output: CommandOutput;
  readonly #startedAt = performance.now();
  readonly #reported = new Set<string>();
  readonly #timers: NodeJS.Timeout[];
  #status = 'IN_QUEUE';
  #why = '';
  #isAsking = false;

  constructor(client: ApiClient, { endpointId, id }: { endpointId: string; id: string }, output: CommandOutput) {
    this.#client = client;
    this.#path = `/v2/${endpointId}/status/${id}?explain=1`;
    this.#output = output;
    this.#timers = [
      setInterval(() => void this.#ask(), ASK_EVERY_MS),
      ...(output.terminal.isInteractive ? [setInterval(() => this.#draw(), DRAW_EVERY_MS)] : []),
    ];
  }

  /** Takes over a status that was read otherwise. */
  update(status: string): void {
    this.#status = status;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#output.terminal.progress('');
  }

  #draw(): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    const why = this.#status === 'IN_QUEUE' && this.#why !== '' ? `: ${this.#why}` : '';
    this.#output.terminal.progress(`${this.#status} ${seconds} s${why}`);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.#status !== 'IN_QUEUE') return;
    this.#isAsking = true;
    const answer = await this.#client.call<Explained>('GET', this.#path).catch(() => null);
    this.#isAsking = false;
    if (answer === null) return;
    const { attempts } = answer.explain;
    const now = attempts.at(-1)?.stages.at(-1);
    this.#status = answer.status;
    this.#why = now?.reason ?? STAGES[now?.stage ?? ''] ?? '';
    if (!this.#output.terminal.isInteractive) this.#report(answer.workerId, attempts.length);
  }

  /**
   * A state that differs only in its numbers, such as a pull at 40 %, is the same. What never waited is not worth a line, nor is a
   * job without a reason, which is being taken.
   */
  #report(workerId: string | undefined, attempt: number): void {
    const isQueued = this.#status === 'IN_QUEUE';
    if (isQueued && this.#why === '') return;
    const state = isQueued ? this.#why.replace(/\d+/g, '#') : this.#status;
    const isNew = !this.#reported.has(`${attempt} ${state}`);
    if (!isNew || (!isQueued && (this.#reported.size === 0 || this.#status !== 'IN_PROGRESS'))) return;
    this.#reported.add(`${attempt} ${state}`);
    const on = workerId === undefined ? '' : ` on worker ${workerId}`;
    this.#output.note(`${this.#status}${isQueued ? `: ${this.#why}` : on}`);
  }
}
