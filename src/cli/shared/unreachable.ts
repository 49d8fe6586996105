type Env = Readonly<Record<string, string | undefined>>;

const START = 'start a server on this machine with `npx podyard`';
const ADDRESS = 'check the address: PODYARD_URL, or `podyard contexts`';
const SILENT = new Set([
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
]);
const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'HPE_INVALID_CONSTANT']);

/** How Node.js reports a 407. */
const PROXY_REFUSED = new Set(['', 'Request was cancelled.']);

/** Returns why a request got no response, and what to do. `error` is what `fetch` rejected with. */
export function explainUnreachable(url: string, error: unknown, env: Env): string {
  const { protocol, hostname, port } = new URL(url);
  const cause = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  const code = cause.code ?? '';
  const proxy = proxyOf(protocol, env);
  if (proxy?.isUsed && code !== 'ENOTFOUND') {
    return `${url} cannot be reached through the proxy that ${proxy.name} names, ${proxy.url}: ${proxyFailure(cause)}. Check the proxy, or add ${hostname} to NO_PROXY`;
  }
  return `${url} cannot be reached: ${reasonFor(code, cause, { protocol, hostname, port })}${proxyHint(proxy, code)}`;
}

function proxyFailure({ message }: Error): string {
  return PROXY_REFUSED.has(message) ? 'it refused, or asks for a user name and password (407)' : message;
}

function reasonFor(
  code: string,
  cause: Error,
  { protocol, hostname, port }: { protocol: string; hostname: string; port: string },
): string {
  if (code === 'ECONNREFUSED') return `nothing listens there. To get a server, ${START}; else ${ADDRESS}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `there is no host named ${hostname}. ${capitalized(ADDRESS)}`;
  if (isCertificate(code)) return certificateProblem(code, cause, hostname);
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return 'what answers there does not speak TLS. Try http:// instead of https://';
  }
  if (SILENT.has(code)) return `it does not answer. A firewall may be in between; ${ADDRESS}`;
  if (BROKEN.has(code)) {
    const tls = protocol === 'http:' ? '. If it speaks TLS, use https://' : '';
    return `the connection was closed without an answer${tls}`;
  }
  if (PROXY_REFUSED.has(cause.message))
    return 'a proxy in between refused it, or asks for a user name and password (407)';
  if (cause.message === 'bad port') return `HTTP clients refuse port ${port}, which belongs to another protocol`;
  return `${cause.message}${code && !cause.message.includes(code) ? ` (${code})` : ''}`;
}

function isCertificate(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code);
}

function certificateProblem(code: string, { message }: Error, hostname: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is not for ${hostname}. Use the name in the certificate`;
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired. Renew it on the server';
  const why = message.split(';', 1)[0];
  return `its certificate is not trusted (${why}). If it is yours, name its CA with NODE_EXTRA_CA_CERTS=ca.pem`;
}

interface Proxy {
  name: string;
  url: string;
  /** Node.js uses it only on request. */
  isUsed: boolean;
}

function proxyOf(protocol: string, env: Env): Proxy | undefined {
  const names = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const name = names.find((one) => env[one]);
  if (name === undefined) return undefined;
  return { name, url: withoutPassword(env[name]!), isUsed: env.NODE_USE_ENV_PROXY === '1' };
}

function withoutPassword(text: string): string {
  const parsed = URL.parse(text);
  return parsed ? `${parsed.protocol}//${parsed.host}` : 'which is not a URL';
}

function proxyHint(proxy: Proxy | undefined, code: string): string {
  if (proxy === undefined || proxy.isUsed || isCertificate(code)) return '';
  return `. ${proxy.name} is set, but only used with NODE_USE_ENV_PROXY=1`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
