import { hostname } from 'node:os';
import type { Config } from '../config/config.ts';
import type { RegistryPolicy } from '../domain/images/registry-policy.ts';

/** Returns the registries that images may come from: not Podyard's own ports, whatever the machine is called. */
export function registryPolicyOf(
  { publicUrl, proxyHost, lbHost, registries }: Config,
  { port, workerApiUrl }: { port: number; workerApiUrl: string },
): RegistryPolicy {
  const named = [publicUrl, workerApiUrl, proxyHost && `http://${proxyHost}`, lbHost && `http://${lbHost}`];
  const hosts = named.flatMap((text) => (text ? [new URL(text).hostname.toLowerCase()] : []));
  const workerPort = workerApiUrl === '' ? [] : [Number(new URL(workerApiUrl).port)];
  return { allowed: registries, ownHosts: [hostname().toLowerCase(), ...hosts], ownPorts: [port, ...workerPort] };
}
