import type { BrowserSession } from './sign-in-server.ts';

/** A browser that signs in with a provider: it keeps cookies and follows redirects. */
export class SignInVisitor {
  readonly cookies = new Map<string, string>();
  readonly #url: string;
  readonly #provider: string;

  /** `url`: of Podyard; `provider`: its name there. */
  constructor(url: string, provider: string) {
    this.#url = url;
    this.#provider = provider;
  }

  async get(url: string): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { headers: { cookie }, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(';', 1)[0]!.split('=') as [string, string];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** Follows redirects until one leads to `until`, which is returned instead of being followed, or there is none. */
  async follow(url: string, until: string): Promise<{ url: string; response: Response | null }> {
    const next = new URL(url);
    for (let i = 0; i < 10; i++) {
      const response = await this.get(next.href);
      const location = response.headers.get('location');
      if (location === null) return { url: next.href, response };
      next.href = new URL(location, next).href;
      if (next.href.includes(until)) return { url: next.href, response: null };
    }
    throw new Error(`too many redirects: ${next.href}`);
  }

  /** Goes to the provider and back, up to the callback, which is not called. */
  async toCallback(to = '/'): Promise<string> {
    const path = `/sign-in/oidc/${this.#provider}?to=${encodeURIComponent(to)}`;
    return (await this.follow(`${this.#url}${path}`, '/callback?')).url;
  }

  /** Signs in, and returns what the console keeps. */
  async signIn(to = '/'): Promise<BrowserSession & { to: string }> {
    const { url, response } = await this.follow(await this.toCallback(to), '#signed-in=');
    if (response !== null) throw new Error(`answered ${response.status}: ${await response.text()}`);
    const [, id = '', token = '', page = ''] = /#signed-in=(\w+)\.([\w-]+)&to=(.*)$/.exec(url)!;
    return { id, token, to: decodeURIComponent(page), cookie: `podyard_${id}=${this.cookies.get(`podyard_${id}`)}` };
  }
}
