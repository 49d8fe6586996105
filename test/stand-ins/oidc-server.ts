import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';

/** Somebody at the provider. */
export interface OidcAccount {
  sub: string;
  email?: string;
  email_verified?: boolean;
  preferred_username?: string;
  groups?: string[];
}

type Claims = Record<string, unknown>;

export const CLIENT_ID = 'podyard';
export const CLIENT_SECRET = 'client-secret-of-the-tests-0123456789';

/** A real OpenID Connect provider on loopback. Whoever comes is signed in as `account` at once. */
export class OidcServer {
  readonly accounts = new Map<string, OidcAccount>();
  account = '';
  /** Changes the id tokens that it returns. */
  tamper: ((token: string) => string) | null = null;
  /** It answers nothing but 503. */
  isAway = false;
  readonly #server: Server;
  #podyardUrl = '';
  #provider!: Provider;
  #key!: { id: string; private: KeyObject };
  #rotations = 0;

  /** Answers nothing useful before `serve`. */
  static async start(): Promise<OidcServer> {
    const server = new OidcServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  private constructor() {
    this.#server = createServer((req, res) => this.#handle(req, res));
  }

  /** `podyardUrl`: of the server that people sign in to; `name`: of this provider there. */
  serve(podyardUrl: string, name = 'acme'): void {
    this.#podyardUrl = `${podyardUrl}/sign-in/oidc/${name}`;
    this.rotateKeys();
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Signs with a new key from now on; the one before is gone. Returns what still signs with that. */
  rotateKeys(): (claims: Claims) => string {
    const before = this.#key;
    this.#rotations += 1;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const id = `key-${this.#rotations}`;
    this.#key = { id, private: privateKey };
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: id, use: 'sig', alg: 'RS256' };
    this.#provider = new Provider(this.issuer, this.#configuration(jwk));
    return (claims) => signed(claims, { alg: 'RS256', kid: before.id }, before.private);
  }

  /** Tells Podyard that an account, or one session of it, has signed out. */
  async logOut(claims: Claims, changes: Claims = {}): Promise<Response> {
    const now = Math.floor(Date.now() / 1000);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const token = this.sign({
      iss: this.issuer,
      aud: CLIENT_ID,
      iat: now,
      exp: now + 120,
      jti: String(Math.random()),
      events,
      ...claims,
      ...changes,
    });
    return this.sendLogout(token);
  }

  sendLogout(token: string): Promise<Response> {
    return fetch(`${this.#podyardUrl}/logout`, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });
  }

  /** Returns a token of these claims, signed with the provider's key. */
  sign(claims: Claims, head: Claims = { alg: 'RS256', kid: this.#key.id }): string {
    return signed(claims, head, this.#key.private);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #handle(req: IncomingMessage, res: ServerResponse): void {
    if (this.isAway) return void res.writeHead(503).end();
    const interaction = /^\/interaction\//.test(req.url!);
    if (interaction) {
      void this.#provider.interactionFinished(req, res, { login: { accountId: this.account } });
      return;
    }
    if (req.url === '/token' && this.tamper) tamperWith(res, this.tamper);
    void this.#provider.callback()(req, res);
  }

  #configuration(jwk: object): Configuration {
    return {
      jwks: { keys: [jwk] } as Configuration['jwks'],
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: [`${this.#podyardUrl}/callback`],
          post_logout_redirect_uris: [this.#podyardUrl.replace(/sign-in.*/, '')],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['preferred_username'],
        groups: ['groups'],
      },
      cookies: { keys: ['cookies-of-the-tests'] },
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      pkce: { required: () => true },
      issueRefreshToken: async () => true,
      findAccount: async (_ctx, id) => {
        const account = this.accounts.get(id);
        return account && { accountId: id, claims: async () => ({ ...account }) };
      },
      loadExistingGrant: async (ctx) => {
        const { provider, client, session } = ctx.oidc;
        const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
        grant.addOIDCScope('openid email profile groups');
        await grant.save();
        return grant;
      },
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: 3600,
        IdToken: 600,
        Interaction: 600,
        RefreshToken: 3600,
        Session: 3600,
      },
    };
  }
}

function signed(claims: Claims, head: Claims, key: KeyObject): string {
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

/** Replaces the id token in the answer of a token endpoint. */
function tamperWith(res: ServerResponse, tamper: (token: string) => string): void {
  const end = res.end.bind(res) as (text: string) => ServerResponse;
  res.end = ((body: string | Buffer) => {
    const answer = JSON.parse(String(body)) as { id_token?: string };
    if (answer.id_token !== undefined) answer.id_token = tamper(answer.id_token);
    res.removeHeader('content-length');
    return end(JSON.stringify(answer));
  }) as typeof res.end;
}
