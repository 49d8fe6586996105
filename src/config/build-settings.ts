import { parseMemory, parseSize } from './parse-setting.ts';
import { integer, seconds, setting } from './setting.ts';

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
};
