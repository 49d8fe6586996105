import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { BuildRegistry } from '../../domain/images/build-registry.ts';
import type { EngineAddress } from '../../engine/engine-address.ts';

/** The members used of the file that `docker login` writes. */
interface DockerConfig {
  auths?: Record<string, { auth?: string; username?: string; password?: string }>;
}

const HUB = 'https://index.docker.io/v1/';

/** Returns where images of builds are for the nodes of a cluster; null: nowhere. Throws a UsageError for credentials that it cannot read. */
export async function readBuildRegistry({ builds }: Config): Promise<BuildRegistry | null> {
  const { registry, registryAuthFile: file } = builds;
  if (registry === null) return null;
  if (file === null) return { ...registry, auth: null };
  const { auths = {} } = await readConfig(file);
  const found =
    auths[registry.host] ?? auths[`https://${registry.host}`] ?? (registry.host === 'docker.io' && auths[HUB]);
  if (!found) throw new UsageError(`PODYARD_BUILD_REGISTRY_AUTH: ${file} has no credentials for ${registry.host}`);
  const [username = '', ...password] = Buffer.from(found.auth ?? '', 'base64')
    .toString()
    .split(':');
  const auth = { username: found.username ?? username, password: found.password ?? password.join(':') };
  if (auth.username !== '' && auth.password !== '') return { ...registry, auth };
  const why = 'its passwords are elsewhere (credsStore), or missing';
  throw new UsageError(`PODYARD_BUILD_REGISTRY_AUTH: ${file} has no password for ${registry.host}: ${why}`);
}

/** Returns the engine that builds for a cluster. Throws a UsageError if it may not be used, or its certificates cannot be read. */
export async function readBuildEngine({ builds }: Config): Promise<EngineAddress | undefined> {
  const { engine, engineCertificates: folder } = builds;
  if (engine === null || 'socketPath' in engine) return engine ?? undefined;
  if (folder !== null) {
    const [ca, cert, key] = await Promise.all(
      ['ca.pem', 'cert.pem', 'key.pem'].map((name) => readPem(join(folder, name))),
    );
    return { ...engine, tls: { ca: ca!, cert: cert!, key: key! } };
  }
  if (/^(?:localhost|127(?:\.\d+){3}|::1)$/.test(engine.host)) return { ...engine, tls: null };
  const why = 'whoever reaches an engine without TLS owns its machine';
  throw new UsageError(`PODYARD_BUILD_ENGINE_CERTIFICATES is not set, but ${engine.host} is another machine: ${why}`);
}

async function readConfig(file: string): Promise<DockerConfig> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as DockerConfig;
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is no JSON' : messageOf(error);
    throw new UsageError(`PODYARD_BUILD_REGISTRY_AUTH: ${file} cannot be read: ${why}`);
  }
}

async function readPem(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error) => {
    throw new UsageError(`PODYARD_BUILD_ENGINE_CERTIFICATES: ${messageOf(error)}`);
  });
}
