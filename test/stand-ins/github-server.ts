import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Somebody at GitHub. */
export interface GithubAccount {
  id: number;
  login: string;
  emails: { email: string; primary: boolean; verified: boolean }[];
  organizations: string[];
  /** `organization/team`. */
  teams: string[];
}

/** GitHub's OAuth and the part of its API about who somebody is, on loopback. Whoever comes is signed in as `account` at once. */
export class GithubServer {
  account: GithubAccount | null = null;
  /** Answers the API with it instead. */
  failsWith: number | null = null;
  readonly tokens = new Map<string, GithubAccount>();
  readonly #codes = new Map<string, { account: GithubAccount; challenge: string; redirectUri: string }>();
  readonly #server: Server;

  static async start(): Promise<GithubServer> {
    const server = new GithubServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  private constructor() {
    this.#server = createServer((req, res) => void this.#handle(req, res));
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(req.url!, this.issuer);
    if (pathname === '/login/oauth/authorize') this.#authorize(searchParams, res);
    else if (pathname === '/login/oauth/access_token')
      sendJson(res, 200, this.#redeem(new URLSearchParams(await text(req))));
    else this.#api(req, res, pathname, Number(searchParams.get('page') ?? 1));
  }

  #authorize(query: URLSearchParams, res: ServerResponse): void {
    const code = randomBytes(10).toString('hex');
    const redirectUri = query.get('redirect_uri')!;
    this.#codes.set(code, { account: this.account!, challenge: query.get('code_challenge')!, redirectUri });
    const answer = new URLSearchParams({ code, state: query.get('state')! });
    res.writeHead(302, { location: `${redirectUri}?${answer}` }).end();
  }

  /** Refusals are a 200, as GitHub's are. */
  #redeem(form: URLSearchParams): object {
    const found = this.#codes.get(form.get('code')!);
    this.#codes.delete(form.get('code')!);
    const challenge = createHash('sha256').update(form.get('code_verifier')!).digest('base64url');
    if (form.get('client_id') !== 'id' || form.get('client_secret') !== 'secret') {
      return { error: 'incorrect_client_credentials' };
    }
    if (!found || found.challenge !== challenge || found.redirectUri !== form.get('redirect_uri')) {
      return { error: 'bad_verification_code' };
    }
    const token = `gho_${randomBytes(10).toString('hex')}`;
    this.tokens.set(token, found.account);
    return { access_token: token, token_type: 'bearer' };
  }

  #api(req: IncomingMessage, res: ServerResponse, path: string, page: number): void {
    const account = this.tokens.get(String(req.headers.authorization).replace('Bearer ', ''));
    if (this.failsWith !== null || account === undefined) {
      sendJson(res, this.failsWith ?? 401, { message: 'Bad credentials' });
      return;
    }
    const lists: Record<string, object[]> = {
      '/api/v3/user/emails': account.emails,
      '/api/v3/user/orgs': account.organizations.map((login) => ({ login })),
      '/api/v3/user/teams': account.teams.map((team) => {
        const [login, slug] = team.split('/');
        return { slug, organization: { login } };
      }),
    };
    const list = lists[path];
    if (path === '/api/v3/user') sendJson(res, 200, { id: account.id, login: account.login, name: null });
    else sendJson(res, list ? 200 : 404, list?.slice((page - 1) * 100, page * 100) ?? {});
  }
}

function sendJson(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
