import { createHash } from 'node:crypto';
import { Failure } from '../core/errors.ts';
import type { Claims } from './claims.ts';
import type { Checks, IdentityClient, Vouched } from './identity-client.ts';
import type { Provider } from './read-providers.ts';

const TIMEOUT_MS = 10_000;
const PAGE_SIZE = 100;
/** Pages of organizations, and of teams. */
const MAX_PAGES = 10;

interface Account {
  id: number;
  login: string;
}

/**
 * Signs in with GitHub's OAuth, which asserts no identity: its API is asked for the owner of the access token. Groups are the organizations
 * (`acme`) and their teams (`acme/platform`). People are known by their number, since names change hands.
 */
export class GithubClient implements IdentityClient {
  readonly provider: Provider;

  constructor(provider: Provider) {
    this.provider = provider;
  }

  async authorizationUrl({ state, verifier }: Checks, redirectUri: string): Promise<URL> {
    const url = new URL(`${this.#site}/login/oauth/authorize`);
    const { clientId: client_id, scopes: scope } = this.provider;
    const code_challenge = createHash('sha256').update(verifier).digest('base64url');
    const query = { client_id, redirect_uri: redirectUri, scope, state, code_challenge, code_challenge_method: 'S256' };
    url.search = new URLSearchParams(query).toString();
    return url;
  }

  async redeem(answer: URL, { state, verifier }: Checks): Promise<Vouched> {
    const { searchParams: query } = answer;
    const code = query.get('code');
    if (code === null || query.has('error') || query.get('state') !== state) throw this.#refused(query.get('error'));
    const { clientId: client_id, clientSecret: client_secret } = this.provider;
    const redirect_uri = `${answer.origin}${answer.pathname}`;
    const tokens = (await this.#ask(`${this.#site}/login/oauth/access_token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id, client_secret, code, redirect_uri, code_verifier: verifier }),
    })) as { access_token?: unknown; error?: unknown };
    if (typeof tokens.access_token !== 'string') throw this.#refused(tokens.error); // a refusal is a 200, too
    return this.#vouched(tokens.access_token);
  }

  async refresh(token: string, subject: string): Promise<Vouched> {
    const vouched = await this.#vouched(token);
    if (vouched.claims.sub !== subject) throw this.#refused('the token is of another account');
    return vouched;
  }

  async endSessionUrl(): Promise<null> {
    return null;
  }

  async #vouched(token: string): Promise<Vouched> {
    const [user, emails, organizations, teams] = await Promise.all([
      this.#api<Account & { name: string | null }>('/user', token),
      this.#list<{ email: string; primary: boolean; verified: boolean }>('/user/emails', token),
      this.#list<Account>('/user/orgs', token),
      this.#list<{ slug: string; organization: Account }>('/user/teams', token),
    ]);
    if (!Number.isSafeInteger(user.id) || typeof user.login !== 'string') throw this.#away('it did not say who it is');
    const email = emails.find(({ primary, verified }) => primary && verified)?.email;
    const claims: Claims = {
      sub: String(user.id),
      preferred_username: user.login,
      name: user.name,
      ...(email === undefined ? {} : { email, email_verified: true }),
      groups: [
        ...organizations.map(({ login }) => login),
        ...teams.map(({ slug, organization }) => `${organization.login}/${slug}`),
      ],
    };
    return { claims, refreshToken: token, idToken: null };
  }

  /** All pages. Throws `unavailable` beyond `MAX_PAGES`: an incomplete list of groups would take roles away. */
  async #list<T>(path: string, token: string): Promise<T[]> {
    const found: T[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const more = await this.#api<T[]>(`${path}?per_page=${PAGE_SIZE}&page=${page}`, token);
      if (!Array.isArray(more)) throw this.#away(`${path} is no list`);
      found.push(...more);
      if (more.length < PAGE_SIZE) return found;
    }
    throw this.#away(`${path} has more than ${MAX_PAGES * PAGE_SIZE} entries`);
  }

  async #api<T>(path: string, token: string): Promise<T> {
    return (await this.#ask(`${this.#apiUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })) as T;
  }

  /** Throws `unauthorized` for a 401, and `unavailable` for every other failure, such as a rate limit. */
  async #ask(url: string, init: RequestInit): Promise<unknown> {
    let response: Response;
    let body: unknown;
    try {
      response = await fetch(url, {
        ...init,
        headers: { accept: 'application/json', 'user-agent': 'podyard', ...init.headers },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'error',
      });
      body = await response.json();
    } catch (cause) {
      throw this.#away(cause);
    }
    if (response.status === 401) throw this.#refused('the token was revoked');
    if (!response.ok || typeof body !== 'object' || body === null) {
      throw this.#away(`${new URL(url).pathname} answered ${response.status}`);
    }
    return body;
  }

  get #site(): string {
    return this.provider.issuer.replace(/\/$/, '');
  }

  /** An Enterprise Server has its API below its own name. */
  get #apiUrl(): string {
    return this.#site === 'https://github.com' ? 'https://api.github.com' : `${this.#site}/api/v3`;
  }

  #refused(cause: unknown): Failure {
    const text = `${this.provider.title} did not confirm this sign-in, or it was used before: try again.`;
    return new Failure('unauthorized', text, { cause: new Error(String(cause)) });
  }

  #away(cause: unknown): Failure {
    const text = `${this.provider.title} does not answer as it should. Browsers that are signed in and API keys are not affected: try again later.`;
    const error = cause instanceof Error ? cause : new Error(String(cause));
    return new Failure('unavailable', text, { cause: error, retryAfterSeconds: 10 });
  }
}
