import { resolve } from 'node:path';
import { UsageError } from '../core/usage-error.ts';
import { parseMemory, parseSize } from './parse-setting.ts';
import { integer, optional, seconds, setting } from './setting.ts';

/** Where programs are found if the server has no PATH. */
export const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Images that users have built. */
export const BUILDS = {
  /** 0: none is built. */
  atOnce: integer({
    variable: 'PODYARD_BUILDS',
    default: 1,
    min: 0,
    max: 64,
    page: '[Builds](guide/builds.md) at once; the others wait, and `0` builds nothing. How many of them may be one user’s is a limit',
  }),
  /** 0: half of the machine's. */
  cpus: integer({
    variable: 'PODYARD_BUILD_CPUS',
    default: 0,
    min: 0,
    max: 1024,
    shownDefault: "half of the machine's",
    page: 'CPUs of each build',
  }),
  memory: setting({
    variable: 'PODYARD_BUILD_MEMORY',
    default: '50%',
    parse: parseMemory,
    page: "Memory of each build: `8GiB`, or a share of the machine's",
  }),
  timeoutMs: seconds({
    variable: 'PODYARD_BUILD_SECONDS',
    default: 1800,
    page: 'How long a build may take',
  }),
  imageBytes: setting({
    variable: 'PODYARD_BUILD_IMAGE_SIZE',
    default: '20GiB',
    parse: (name, text) => parseSize(name, text, { min: 2 ** 20 }),
    page: 'How large a built image may be',
  }),
  cacheBytes: setting({
    variable: 'PODYARD_BUILD_CACHE_SIZE',
    default: '20GiB',
    parse: (name, text) => parseSize(name, text, { min: 2 ** 20 }),
    page: 'What Docker may keep of the steps of builds, its own included; what was not used for longest goes first',
  }),
  kept: integer({
    variable: 'PODYARD_BUILDS_KEPT',
    default: 5,
    min: 1,
    max: 1000,
    page: 'Images of each name that are kept; those that an endpoint, a template or a pod uses stay in any case',
  }),
  /** Null: the machine's own, where it runs the workers. */
  engine: optional({
    variable: 'PODYARD_BUILD_ENGINE',
    shownDefault: 'none',
    parse: parseEngine,
    page: 'With Kubernetes: the Docker or Podman that [builds](guide/builds.md#for-a-cluster) images: `tcp://<host>:<port>`, or `unix:///<path>`',
    chart: { value: 'builds.engine', as: 'text' },
  }),
  /** Null: it has no TLS. */
  engineCertificates: optional({
    variable: 'PODYARD_BUILD_ENGINE_CERTIFICATES',
    shownDefault: 'no TLS',
    parse: (_name, text) => resolve(text),
    page: 'A folder with `ca.pem`, `cert.pem` and `key.pem` for the engine of builds, as `docker` has them',
    chart: { value: 'builds.engineSecret', as: 'template' },
  }),
  registry: optional({
    variable: 'PODYARD_BUILD_REGISTRY',
    shownDefault: 'none',
    parse: parseRegistry,
    page: 'With Kubernetes: where built images are pushed to and pulled from, such as `registry.example.com/podyard`',
    chart: { value: 'builds.registry', as: 'text' },
  }),
  /** Null: that registry is open. */
  registryAuthFile: optional({
    variable: 'PODYARD_BUILD_REGISTRY_AUTH',
    shownDefault: 'none',
    parse: (_name, text) => resolve(text),
    page: 'Credentials for that registry: a file as `docker login` writes it, `config.json`',
    chart: { value: 'builds.registrySecret', as: 'template' },
  }),
};

const ENGINES = 'must be tcp://<host>:<port> or unix:///<path>';

/** A socket on this machine, or a host and a port. */
function parseEngine(name: string, text: string): { socketPath: string } | { host: string; port: number } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'unix:' && url.host === '' && url.pathname !== '') return { socketPath: url.pathname };
  if (url?.protocol !== 'tcp:' || url.hostname === '' || url.port === '')
    throw new UsageError(`${name} is '${text}', but ${ENGINES}`);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) };
}

/** As in the names of images, whose first part is a host if it has a dot or a port. */
const REPOSITORY =
  /^(localhost(?::\d{1,5})?|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?|[a-z0-9-]+:\d{1,5})\/([a-z0-9]+(?:[._/-][a-z0-9]+)*)$/i;

function parseRegistry(name: string, text: string): { host: string; repository: string } {
  const [, host, repository] = REPOSITORY.exec(text) ?? [];
  if (host !== undefined && repository !== undefined && text.length <= 200) return { host, repository };
  const example = 'such as registry.example.com/podyard';
  throw new UsageError(`${name} is '${text}', but must be a registry and a repository, ${example}`);
}
