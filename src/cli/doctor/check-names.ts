import { lookup } from 'node:dns/promises';
import type { Config } from '../../config/config.ts';
import type { Finding } from './finding.ts';

type Names = Pick<Config, 'publicUrl' | 'proxyHost' | 'lbHost'>;
type Resolve = (name: string) => Promise<unknown>;

/** Resolves from here the names that clients use: the API's, and one of each wildcard. `isCluster`: `localhost` is never right there. */
export async function checkNames(
  { publicUrl, proxyHost, lbHost }: Names,
  isCluster: boolean,
  resolve: Resolve = lookup,
): Promise<Finding[]> {
  const wildcards = [
    { host: proxyHost, setting: '--proxy-host', of: 'HTTP ports of pods' },
    { host: lbHost, setting: '--lb-host', of: 'load-balancing endpoints' },
  ];
  const findings = await Promise.all([
    publicUrl === null ? null : checkName(new URL(publicUrl).hostname, 'the API', resolve),
    ...wildcards.map(({ host, setting, of }) => {
      if (host !== null) return checkName(`podyard-doctor.${host.replace(/:\d+$/, '')}`, of, resolve);
      return isCluster ? nameless(setting, of) : null;
    }),
  ]);
  return findings.filter((finding) => finding !== null);
}

function nameless(setting: string, of: string): Finding {
  const found = `${of} have no name that clients outside the cluster can use`;
  const advice = `Set ${setting} (podsHost and lbHost of the chart) to a name with a wildcard record, e.g. pods.example.com.`;
  return { what: 'names', verdict: 'note', found, advice };
}

async function checkName(name: string, of: string, resolve: Resolve): Promise<Finding | null> {
  const isThere = await resolve(name).then(
    () => true,
    () => false,
  );
  if (isThere) return null;
  const shown = name.replace(/^podyard-doctor\./, '*.');
  const advice = 'Create the DNS record: see the page “A domain and TLS” of the guide.';
  return { what: 'names', verdict: 'note', found: `${shown}, for ${of}, has no address here`, advice };
}
