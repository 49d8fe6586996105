/**
 * Where the nodes of a cluster get models (docs/decisions/0125-models-on-nodes.md): the init container of a worker asks which ones it
 * needs and reads their contents, by an address that is a secret of this worker and ends with its start. Serves files that were
 * verified when they were stored, and nothing else.
 */
import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../core/errors.ts';
import { sendBytes } from '../../core/flow/send-bytes.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { createServer } from '../../core/node-http.ts';
import { parseRange } from '../../core/text/byte-range.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { readSmallBody } from '../fetch/read-small-body.ts';
import type { UsedModel } from '../store/worker-views.ts';
import type { ModelOffer } from './copy-models.ts';

export interface ModelDoorOptions {
  /** Where nodes reach this process: the address to bind, and the host for URLs. */
  address: () => Promise<{ bind: string; host: string }>;
  /** 0: any that is free. */
  port: number;
  /** The path of a stored content. */
  pathOf: (file: Pick<PinnedFile, 'digest'>) => string;
  listLive: (ids: readonly WorkerId[]) => Promise<ReadonlySet<WorkerId>>;
  logger: Logger;
}

interface Offer {
  workerId: WorkerId;
  models: readonly UsedModel[];
  files: ReadonlyMap<string, PinnedFile>;
}

const MAX_QUESTION_BYTES = 2 ** 22;

export class ModelDoor {
  readonly #options: ModelDoorOptions;
  /** By the secret in the address. */
  readonly #offers = new Map<string, Offer>();
  #server: Server | undefined;
  #url: Promise<string> | undefined;

  constructor(options: ModelDoorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#url = this.#listen();
    this.#url.catch((error) => this.#options.logger.error({ err: error }, 'nodes cannot get models from here'));
  }

  async stop(): Promise<void> {
    await this.#url?.catch(() => {});
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  /** Returns where the worker's node gets its models, until `withdraw`. */
  async offer(workerId: WorkerId, models: readonly UsedModel[]): Promise<string> {
    if (this.#url === undefined) throw new Error('the door of the models is closed');
    const url = await this.#url;
    this.withdraw(workerId);
    const secret = randomBytes(32).toString('base64url');
    const files = new Map(models.flatMap(({ model }) => model.files.map((file) => [file.digest as string, file])));
    const shown = models.map(({ use, model }) => ({ use: { ...use, tokenSecret: null }, model }));
    this.#offers.set(secret, { workerId, models: shown, files });
    return `${url}/${secret}`;
  }

  withdraw(workerId: WorkerId): void {
    for (const [secret, offer] of this.#offers) if (offer.workerId === workerId) this.#offers.delete(secret);
  }

  async #listen(): Promise<string> {
    const { address, port } = this.#options;
    const { bind, host } = await address();
    const server = createServer((request, response) => void this.#handle(request, response));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, bind, resolve);
    });
    return `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const [, secret = '', digest = null, ...rest] = (request.url ?? '').split('/');
      const offer = rest.length === 0 ? this.#offers.get(secret) : undefined;
      const file = offer && digest !== null ? offer.files.get(digest) : undefined;
      if (offer && request.method === 'POST' && digest === null) await this.#answer(offer, request, response);
      else if (file && request.method === 'GET') await this.#send(file, request, response);
      else response.writeHead(404).end();
    } catch (error) {
      if (!response.destroyed && !isGone(error)) {
        this.#options.logger.warn({ err: error }, 'a node did not get what it asked for of a model');
      }
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    }
  }

  async #answer({ workerId, models }: Offer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { workers } = JSON.parse(await readSmallBody(request, MAX_QUESTION_BYTES)) as { workers: WorkerId[] };
    const live = await this.#options.listLive(workers);
    const offer: ModelOffer = { workerId, models: [...models], live: [...live] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(offer));
  }

  async #send(file: PinnedFile, { headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const range = parseRange(headers.range, file.size);
    if (range === 'behind') return void response.writeHead(416).end();
    const { start, end } = range ?? { start: 0, end: file.size };
    const handle = await open(this.#options.pathOf(file), 'r');
    try {
      response.writeHead(range ? 206 : 200, {
        'content-type': 'application/octet-stream',
        'content-length': end - start,
        ...(range && { 'content-range': `bytes ${start}-${end - 1}/${file.size}` }),
      });
      const read = async (buffer: Buffer, at: number) => {
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
        if (bytesRead === 0) throw new Error('a stored content ended too early');
        return bytesRead;
      };
      await sendBytes(response, { start, length: end - start, read });
      response.end();
    } finally {
      await handle.close();
    }
  }
}

/** The node has closed the connection. */
function isGone(error: unknown): boolean {
  return /premature close|aborted|destroyed|ECONNRESET|EPIPE/i.test(messageOf(error));
}
