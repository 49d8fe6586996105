import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A request that the stand-in has got. */
export interface PostedStatus {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

const API_FORMS = [
  {
    path: /^\/api\/v3\/repos\/[^/]+\/[^/]+\/statuses\/[0-9a-f]{40}$/,
    states: ['error', 'failure', 'pending', 'success'],
    members: ['context', 'description', 'state', 'target_url'],
    token: (headers: IncomingHttpHeaders) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1],
  },
  {
    path: /^\/api\/v4\/projects\/[^/]+\/statuses\/[0-9a-f]{40}$/,
    states: ['pending', 'running', 'success', 'failed', 'canceled', 'skipped'],
    members: ['context', 'coverage', 'description', 'name', 'pipeline_id', 'ref', 'state', 'target_url'],
    token: (headers: IncomingHttpHeaders) => headers['private-token'],
  },
  {
    path: /^\/api\/v1\/repos\/[^/]+\/[^/]+\/statuses\/[0-9a-f]{40}$/,
    states: ['pending', 'success', 'error', 'failure', 'warning'],
    members: ['context', 'description', 'state', 'target_url'],
    token: (headers: IncomingHttpHeaders) => /^token (.+)$/.exec(headers.authorization ?? '')?.[1],
  },
];
const MAX_DESCRIPTION = 140;

/**
 * A stand-in for the part of GitHub, GitLab and Gitea that takes statuses of commits, on loopback. It checks what it gets against their
 * public descriptions: the path, the state's words, known members, where the token is.
 */
export class StatusHost {
  readonly #server = createServer(async (req, res) => {
    const body = (await json(req).catch(() => null)) as PostedStatus['body'] | null;
    const form = API_FORMS.find(({ path }) => path.test(req.url ?? ''));
    const faults = !form || req.method !== 'POST' ? ['no such route'] : faultsOf(body, form);
    this.faults.push(...faults);
    this.posted.push({ path: req.url ?? '', headers: req.headers, body: body ?? {} });
    this.#heard?.();
    if (this.intercept) this.intercept(res);
    else if (form?.token(req.headers) !== this.token) res.writeHead(401).end('{"message":"Bad credentials"}');
    else if (faults.length > 0) res.writeHead(422).end(JSON.stringify({ message: faults.join() }));
    else res.writeHead(201, { 'content-type': 'application/json' }).end('{}');
  });
  #heard: (() => void) | null = null;
  readonly posted: PostedStatus[] = [];
  /** Faults of requests. */
  readonly faults: string[] = [];
  token: string | undefined = 'ghp_0123456789abcdef';
  /** Answers instead. */
  intercept: ((res: ServerResponse) => void) | null = null;

  static async start(): Promise<StatusHost> {
    const host = new StatusHost();
    host.#server.listen(0, '127.0.0.1');
    await once(host.#server, 'listening');
    return host;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when the next request has come. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function faultsOf(body: PostedStatus['body'] | null, { states, members }: (typeof API_FORMS)[number]): string[] {
  if (body === null) return ['the body is not JSON'];
  const { state, description, target_url: url } = body;
  return [
    ...(states.includes(String(state)) ? [] : [`the state ${state}`]),
    ...(typeof description === 'string' && description.length <= MAX_DESCRIPTION ? [] : ['the description']),
    ...(url === undefined || URL.canParse(String(url)) ? [] : ['the target_url']),
    ...Object.keys(body).filter((name) => !members.includes(name)),
  ];
}
