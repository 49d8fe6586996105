import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readKubernetesSettings } from '../../src/config/kubernetes-settings.ts';
import { MACHINE_SERVICES } from '../../src/domain/images/network-list.ts';
import { PRIVATE_NETWORKS } from '../../src/runtimes/docker/network/egress-rules.ts';
import { CHART, EVERYTHING, type Manifest, MINIMUM, render, renderText, withValues } from './chart.ts';
import { findHelm, type HelmPrograms, noHelm } from './helm-programs.ts';
import { misfits } from './kubernetes-models.ts';

const run = promisify(execFile);
const ROOT = new URL('../../', import.meta.url);
const OPERATOR = 'monitoring.coreos.com/v1';
const SETS: Record<string, object> = {
  'what is needed': MINIMUM,
  everything: EVERYTHING,
  'two namespaces': { ...MINIMUM, workloads: { namespace: 'elsewhere' }, networkPolicy: { enabled: true } },
  'no policies': { ...MINIMUM, networkPolicy: { enabled: false } },
  'accounts of others': { ...MINIMUM, rbac: { create: false }, serviceAccounts: { create: false, control: 'own' } },
};

let programs: HelmPrograms;
let everything: Manifest[];

test.runIf(process.env.CI === 'true')('CI has Helm', () => expect(noHelm).toBeUndefined());

describe.skipIf(noHelm)(noHelm ? `the chart (${noHelm})` : 'the chart', () => {
  beforeAll(async () => {
    programs = await findHelm();
    everything = await render(programs, EVERYTHING, { apiVersions: [OPERATOR] });
  });

  const one = (manifests: readonly Manifest[], kind: string, name: string): Manifest => {
    const found = manifests.filter((manifest) => manifest.kind === kind && manifest.metadata.name === name);
    expect(found, `${kind} ${name}`).toHaveLength(1);
    return found[0]!;
  };
  const ofKind = (manifests: readonly Manifest[], kind: string) => manifests.filter((each) => each.kind === kind);
  const failure = (values: object) =>
    renderText(programs, values).then(
      () => 'nothing was refused',
      (error: { stderr: string }) => error.stderr,
    );
  const refused = async (more: object) => failure(merged(MINIMUM, more));

  test.each(Object.entries(SETS))('with %s, every field exists in Kubernetes', async (_, values) => {
    for (const kubeVersion of ['1.28.0', '1.35.0']) {
      const manifests = await render(programs, values, { kubeVersion, apiVersions: [OPERATOR] });
      expect(manifests.length).toBeGreaterThan(8);
      expect(manifests.filter(({ apiVersion }) => apiVersion !== OPERATOR).flatMap(misfits)).toEqual([]);
      const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test('a misspelt field and a value of the wrong type are found', async () => {
    const [deployment] = ofKind(everything, 'Deployment');
    const { containers } = deployment!.spec.template.spec;
    containers[0].imagePullPolcy = 'Always';
    containers[0].ports[0].containerPort = '8080';
    deployment!.spec.replica = 2;
    everything = await render(programs, EVERYTHING, { apiVersions: [OPERATOR] });
    expect(misfits(deployment!).toSorted()).toEqual([
      'Deployment.spec.replica is not a member',
      'Deployment.spec.template.spec.containers[0].imagePullPolcy is not a member',
      'Deployment.spec.template.spec.containers[0].ports[0].containerPort must be a number, not "8080"',
    ]);
  });

  test.each(['docs/guide/cluster-walk.md', 'docs/guide/several-machines.md', 'deploy/helm/podyard/README.md'])(
    'the values of %s are accepted',
    async (page) => {
      const markdown = await readFile(new URL(page, ROOT), 'utf8');
      const values = /```yaml\n(# my-values\.yaml\n.*?)```/s.exec(markdown)![1]!;
      const kinds = (await render(programs, { ...parse(values), keys: { existingSecret: 'own-keys' } })).map(
        ({ kind }) => kind,
      );
      expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'Ingress', 'NetworkPolicy']));
    },
  );

  test('every other block of values in the guide is accepted', async () => {
    const markdown = await readFile(new URL('docs/guide/kubernetes.md', ROOT), 'utf8');
    const blocks = [...markdown.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => parse(text!) as object);
    expect(blocks.length).toBeGreaterThan(1);
    for (const values of blocks) {
      const whole = merged({ keys: { existingSecret: 'own-keys' }, database: { existingSecret: 'x' } }, values);
      expect(ofKind(await render(programs, whole), 'Deployment')).toHaveLength(2);
    }
  });

  describe('the image', () => {
    const pod = async (more: object) =>
      one(await render(programs, merged(MINIMUM, more)), 'Deployment', 'py-podyard-server').spec.template.spec;
    const image = async (more: object) => (await pod(more)).containers[0].image;

    test('has a registry, a name, a tag and a digest of their own, and a registry for all charts goes first', async () => {
      expect(await image({ image: { registry: 'registry.lan:5000', repository: 'a/podyard', tag: 'x' } })).toBe(
        'registry.lan:5000/a/podyard:x',
      );
      const digest = `sha256:${'0'.repeat(64)}`;
      const both = { image: { registry: 'one.lan', digest }, global: { imageRegistry: 'two.lan/mirror/' } };
      expect(await image(both)).toBe(`two.lan/mirror/podyard@${digest}`);
    });

    test('as version 0.1.0 was configured, it is the same', async () => {
      const before = { image: { repository: 'registry.lan:5000/podyard', tag: 'x', pullSecrets: [{ name: 'a' }] } };
      const { containers, imagePullSecrets } = await pod(before);
      expect([containers[0].image, imagePullSecrets]).toEqual(['registry.lan:5000/podyard:x', [{ name: 'a' }]]);
    });

    test('is pulled with the secrets of the chart and of all charts, each once', () => {
      const { containers, imagePullSecrets } = one(everything, 'Deployment', 'py-podyard-control').spec.template.spec;
      expect(containers[0].image).toMatch(/^registry\.example\.com:5000\/mirror\/team\/podyard@sha256:/);
      expect(imagePullSecrets).toEqual([{ name: 'of-all' }, { name: 'registry' }, { name: 'more' }]);
    });

    test('is pulled with the same secrets where workers run it to get their models', async () => {
      const settings = one(everything, 'ConfigMap', 'py-podyard-settings').data;
      const { modelsImage, pullSecrets } = readKubernetesSettings(settings);
      expect(modelsImage).toMatch(/^registry\.example\.com:5000\/mirror\/team\/podyard@sha256:/);
      expect(pullSecrets).toEqual(['of-all', 'registry', 'more']);
      const without = one(await render(programs, MINIMUM), 'ConfigMap', 'py-podyard-settings').data;
      expect(readKubernetesSettings(without).pullSecrets).toEqual([]);
    });
  });

  test('the PrometheusRule holds the alert rules', async () => {
    const { metadata, spec } = one(everything, 'PrometheusRule', 'py-podyard');
    expect(metadata.labels).toMatchObject({ release: 'prometheus' });
    expect(spec).toEqual(parse(await readFile(new URL('deploy/helm/podyard/files/alerts.yaml', ROOT), 'utf8')));
  });

  test('the ServiceMonitor has only fields that the Prometheus operator knows', () => {
    const monitor = one(everything, 'ServiceMonitor', 'py-podyard');
    const service = one(everything, 'Service', 'py-podyard-metrics');
    expect(service.metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
    expect(monitor.metadata.labels).toMatchObject({ release: 'prometheus' });
    expect(monitor.spec.endpoints).toEqual([
      {
        port: 'http',
        path: '/metrics',
        interval: '10s',
        scheme: 'https',
        tlsConfig: { insecureSkipVerify: true },
        authorization: { type: 'Bearer', credentials: { name: 'own-keys', key: 'metrics-token' } },
      },
    ]);
  });

  test.each([
    ['a database', { database: { url: '' } }, /PostgreSQL database: set database\.url/],
    ['one database', { database: { existingSecret: 'x' } }, /database\.url and database\.existingSecret are both set/],
    ['a URL of PostgreSQL', { database: { url: 'mysql://u:hidden@h/d' } }, /database\.url must start with postgresql:/],
    ['a real master key', { keys: { masterKey: 'hidden' } }, /keys\.masterKey must be 32 bytes in base64 or hex/],
    ['a key that can be sent', { keys: { adminKey: 'hid den' } }, /keys\.adminKey must be 1 to 256 visible/],
    ['a master key that stays', { keys: { masterKey: '' } }, /each run would generate new ones.*keys\.masterKey/],
    ['a first key that stays', { keys: { adminKey: '' } }, /each run would generate new ones.*keys\.adminKey/],
    ['a host for its ingress', { ingress: { enabled: true } }, /ingress\.enabled needs ingress\.host/],
    ['the name of a namespace to make', { workloads: { createNamespace: true } }, /needs workloads\.namespace/],
    ['the operator for its monitor', { serviceMonitor: { enabled: true } }, /needs the Prometheus operator/],
    [
      'no value that it has not',
      { server: { replica: 3 } },
      /at '\/server': additional properties 'replica' not allowed/,
    ],
    ['numbers as numbers', { control: { replicas: 'two' } }, /at '\/control\/replicas': got string, want integer/],
    ['a registry without a scheme', { image: { registry: 'https://x' } }, /at '\/image\/registry'/],
    ['pull secrets by name', { imagePullSecrets: ['x'] }, /at '\/imagePullSecrets\/0': got string, want object/],
    ['known tiers', { workloads: { storageClasses: { SLOW: 'x' } } }, /additional properties 'SLOW' not allowed/],
    ['no secret among the settings', { config: { PODYARD_MASTER_KEY: 'hidden' } }, /PODYARD_MASTER_KEY/],
    ['a known scope of egress', { egress: 'none' }, /at '\/egress': value must be one of 'internet', 'lan', 'all'/],
    ['networks to allow', { egressAllow: ['example.com'] }, /egressAllow\/0/],
    ['an allow list that has an effect', { egress: 'all', egressAllow: ['10.0.0.0/8'] }, /egressAllow has no effect/],
    ['egress as its own value', { config: { PODYARD_EGRESS: 'all' } }, /set egress and egressAllow/],
    ['two different ports', { workerApi: { port: 8080 } }, /workerApi\/port/],
  ])('it wants %s, and says so without showing a secret', async (_, more, words) => {
    const text = (await refused(more)).replaceAll('\n', ' ');
    expect(text).toMatch(words);
    expect(text).not.toMatch(/hid ?den/);
  });

  test('permissions are minimal: a longer list needs a decision', async () => {
    const manifests = await render(programs, MINIMUM);
    const roles = [...ofKind(manifests, 'Role'), ...ofKind(manifests, 'ClusterRole')];
    const rules = (role: Manifest): { apiGroups: string[]; resources: string[]; verbs: string[] }[] => role.rules;
    const lines = (role: Manifest) => rules(role).map((rule) => `${rule.resources.join()}: ${rule.verbs.join()}`);
    expect(Object.fromEntries(roles.map((role) => [role.metadata.name, lines(role)]))).toEqual({
      'py-podyard-server': ['pods: get,list,watch', 'pods: get'],
      'py-podyard-control': [
        'pods: create,delete,get,list,patch,watch',
        'pods/log: get',
        'pods/resize: patch',
        'secrets: create,delete,get,list,patch',
        'services: create,delete,list,watch',
        'networkpolicies: create,delete',
        'poddisruptionbudgets: create,delete,list,patch',
        'persistentvolumeclaims: create,delete,get,patch',
        'events: list,watch',
        'pods: get',
      ],
      'py-podyard-podyard-cluster': [
        'nodes: list,watch',
        'deviceclasses,resourceslices: list,watch',
        'nodes/stats: get',
      ],
    });
    const groups = roles.flatMap((role) => rules(role).flatMap(({ apiGroups }) => apiGroups));
    expect(new Set(groups)).toEqual(new Set(['', 'metrics.k8s.io', 'networking.k8s.io', 'policy', 'resource.k8s.io']));
  });

  test('with everything enabled there is no wildcard, no access into pods or nodes, and no secret for `server`', () => {
    const roles = [...ofKind(everything, 'Role'), ...ofKind(everything, 'ClusterRole')];
    const text = JSON.stringify(roles.map(({ rules }) => rules));
    expect(text).not.toMatch(/"\*"|exec|attach|portforward|proxy|escalate|bind|impersonate|deletecollection/);
    expect(JSON.stringify(one(everything, 'Role', 'py-podyard-server').rules)).not.toMatch(
      /secrets|create|delete|patch|log/,
    );
    const clusterWide = one(everything, 'ClusterRole', 'py-podyard-podyard-cluster').rules;
    const verbs: string[] = clusterWide.flatMap((rule: { verbs: string[] }) => rule.verbs);
    expect(verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb))).toEqual([]);
  });

  test('access into workloads needs a value of its own, and is for `server` alone', async () => {
    const manifests = await render(programs, { ...MINIMUM, rbac: { terminal: true } });
    const rules = one(manifests, 'Role', 'py-podyard-server').rules;
    expect(rules).toContainEqual({ apiGroups: [''], resources: ['pods/exec'], verbs: ['create', 'get'] });
    expect(JSON.stringify(one(manifests, 'Role', 'py-podyard-control').rules)).not.toContain('exec');
  });

  test('the service accounts of the release have their permissions in the namespace of the workloads', () => {
    for (const component of ['server', 'control']) {
      const binding = one(everything, 'RoleBinding', `py-podyard-${component}`);
      expect(binding.metadata.namespace).toBe('gpu-work');
      expect(binding.roleRef).toMatchObject({ kind: 'Role', name: `py-podyard-${component}` });
      expect(binding.subjects).toEqual([
        { kind: 'ServiceAccount', name: `py-podyard-${component}`, namespace: 'podyard' },
      ]);
      const deployment = one(everything, 'Deployment', `py-podyard-${component}`);
      expect(deployment.spec.template.spec.serviceAccountName).toBe(`py-podyard-${component}`);
    }
  });

  test('no process runs as root, can become root, or writes to its image', async () => {
    for (const { spec } of ofKind(await render(programs, MINIMUM), 'Deployment')) {
      const pod = spec.template.spec;
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod.hostNetwork).toBeUndefined();
      for (const { securityContext } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  test('Services, disruption budgets and Deployments select the right pods, by ports that exist', () => {
    const deployments = ofKind(everything, 'Deployment');
    const matches = (selector: Record<string, string>) =>
      deployments.filter(({ spec }) =>
        Object.entries(selector).every(([name, value]) => spec.template.metadata.labels[name] === value),
      );
    const found = new Map<string, string[]>();
    for (const { metadata, spec } of ofKind(everything, 'Service')) {
      const behind = matches(spec.selector);
      found.set(
        metadata.name,
        behind.map((each) => each.metadata.name),
      );
      for (const each of behind) {
        const ports = each.spec.template.spec.containers[0].ports.map(({ name }: { name: string }) => name);
        for (const { targetPort } of spec.ports) expect(ports).toContain(targetPort);
      }
    }
    expect(Object.fromEntries(found)).toEqual({
      'py-podyard': ['py-podyard-server'],
      'py-podyard-workers': ['py-podyard-server'],
      'py-podyard-metrics': ['py-podyard-server', 'py-podyard-control'],
    });
    for (const kind of ['PodDisruptionBudget', 'Deployment']) {
      for (const { metadata, spec } of ofKind(everything, kind)) {
        expect(matches(spec.selector.matchLabels).map((each) => each.metadata.name)).toEqual([metadata.name]);
      }
    }
  });

  describe('egress of workloads', () => {
    const policies = async (more: object) => ofKind(await render(programs, merged(MINIMUM, more)), 'NetworkPolicy');
    const setting = async (more: object) =>
      one(await render(programs, merged(MINIMUM, more)), 'ConfigMap', 'py-podyard-settings').data.PODYARD_EGRESS;
    const workloads = async (more: object) => {
      const found = (await policies(more)).find(({ metadata }) => metadata.name === 'py-podyard-workloads');
      expect(found!.spec.policyTypes).toEqual(['Egress']);
      return found!.spec.egress as { to?: Record<string, unknown>[]; ports?: object[] }[];
    };
    const open = (v4: readonly string[], v6: readonly string[]) => ({
      to: [{ ipBlock: { cidr: '0.0.0.0/0', except: v4 } }, { ipBlock: { cidr: '::/0', except: v6 } }],
    });
    const DNS = { ports: [53, 53].map((port, i) => ({ port, protocol: ['UDP', 'TCP'][i] })) };
    const CLUSTERS = {
      to: [{ podSelector: { matchExpressions: [{ key: 'podyard.dev/group', operator: 'Exists' }] } }],
    };
    const ofComponent = (component: string) => ({
      to: [{ podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': component }) } }],
      ports: [{ port: 'workers', protocol: 'TCP' }],
    });
    /** The worker API, and where nodes get models. */
    const OWN = ['server', 'control'].map(ofComponent);

    test('by default they reach the worker API, models, DNS and everything but link-local addresses', async () => {
      expect(await workloads({})).toEqual([...OWN, DNS, CLUSTERS, open(MACHINE_SERVICES[4], MACHINE_SERVICES[6])]);
      expect(await setting({})).toBe('lan');
    });

    test('with `internet`, private networks are closed as on a machine, except those allowed', async () => {
      const more = {
        egress: 'internet',
        egressAllow: ['10.0.5.0/24', '192.168.1.10:5432', 'fd00::/8', '[fd00::1]:443'],
      };
      const closed = ([4, 6] as const).map((family) => [...MACHINE_SERVICES[family], ...PRIVATE_NETWORKS[family]]);
      expect(await workloads(more)).toEqual([
        ...OWN,
        DNS,
        CLUSTERS,
        open(closed[0]!, closed[1]!),
        { to: [{ ipBlock: { cidr: '10.0.5.0/24' } }] },
        { to: [{ ipBlock: { cidr: '192.168.1.10/32' } }], ports: [{ port: 5432, protocol: 'TCP' }] },
        { to: [{ ipBlock: { cidr: 'fd00::/8' } }] },
        { to: [{ ipBlock: { cidr: 'fd00::1/128' } }], ports: [{ port: 443, protocol: 'TCP' }] },
      ]);
    });

    test('blocked networks are closed too', async () => {
      const blocked = { networkPolicy: { blockedCidrs: ['10.8.0.0/16', 'fd01::/16'] } };
      const closed = open([...MACHINE_SERVICES[4], '10.8.0.0/16'], [...MACHINE_SERVICES[6], 'fd01::/16']);
      expect(await workloads(blocked)).toContainEqual(closed);
    });

    test('with `all` only the worker API and models are protected; without policies Podyard knows that nothing is', async () => {
      const names = (await policies({ egress: 'all' })).map(({ metadata }) => metadata.name);
      expect(names).toEqual(['py-podyard-server', 'py-podyard-control']);
      expect(await policies({ networkPolicy: { enabled: false } })).toEqual([]);
      expect(await setting({ networkPolicy: { enabled: false } })).toBe('all');
    });
  });

  test('the worker API is not a port of the public Service, and only a ClusterIP Service leads to it', () => {
    expect(one(everything, 'Service', 'py-podyard').spec.ports).toEqual([
      { name: 'http', port: 443, targetPort: 'http', protocol: 'TCP', nodePort: 30_443 },
    ]);
    expect(one(everything, 'Service', 'py-podyard-workers').spec).toMatchObject({
      type: 'ClusterIP',
      ports: [{ name: 'workers', port: 9000, targetPort: 'workers', protocol: 'TCP' }],
    });
  });

  test('pods and load-balancing endpoints have wildcard hosts with their own certificates', async () => {
    const { spec } = one(everything, 'Ingress', 'py-podyard');
    const hosts = ['podyard.example.com', '*.pods.example.com', '*.lb.example.com'];
    expect(spec.rules.map(({ host }: { host: string }) => host)).toEqual(hosts);
    expect(spec.tls).toEqual([
      { hosts: [hosts[0]], secretName: 'podyard-tls' },
      { hosts: [hosts[1]], secretName: 'podyard-pods-tls' },
      { hosts: [hosts[2]], secretName: 'podyard-lb-tls' },
    ]);
    const shared = {
      podsHost: 'x.example.com',
      lbHost: 'x.example.com',
      ingress: { enabled: true, host: 'a.example.com' },
    };
    const same = one(await render(programs, { ...MINIMUM, ...shared }), 'Ingress', 'py-podyard');
    expect(same.spec.rules).toHaveLength(2);
  });

  test('deprecated API versions are used only on clusters without newer ones', async () => {
    const values = merged(MINIMUM, { server: { autoscaling: { enabled: true } } });
    const text = await renderText(programs, values, { kubeVersion: '1.28.0' });
    const versions = [...text.matchAll(/^apiVersion: ((?:policy|autoscaling)\/\S+)/gm)].map(([, version]) => version);
    expect(versions.toSorted()).toEqual(['autoscaling/v2', 'policy/v1', 'policy/v1']);
  });

  test('docs/configuration.md describes every variable that the chart sets', async () => {
    const described = await readFile(new URL('docs/configuration.md', ROOT), 'utf8');
    const settings = one(everything, 'ConfigMap', 'py-podyard-settings').data as Record<string, string>;
    const env = ofKind(everything, 'Deployment').flatMap(({ spec }) => spec.template.spec.containers[0].env);
    const names = [...Object.keys(settings), ...env.map(({ name }: { name: string }) => name)];
    const known = names.filter((name) => name !== 'MORE');
    expect(known.filter((name) => !described.includes(`\`${name}\``))).toEqual([]);
  });

  test('values reach Podyard in the form that it reads', () => {
    expect(one(everything, 'ConfigMap', 'py-podyard-settings').data).toMatchObject({
      PODYARD_RUN_BODY_BYTES: '10485760',
      PODYARD_PUBLIC_URL: 'https://podyard.example.com',
      PODYARD_KUBERNETES_NAMESPACE: 'gpu-work',
      PODYARD_KUBERNETES_TOLERATIONS: 'amd.com/gpu:NoSchedule,team=ml',
      PODYARD_KUBERNETES_STORAGE_CLASSES: 'HIGH_PERFORMANCE=fast,STANDARD=slow',
      PODYARD_KUBERNETES_PRIORITY_CLASSES: 'DEFAULT=py-podyard-standard,PRIORITY_FLASHBOOT=py-podyard-priority',
      PODYARD_WORKER_API_PORT: '9000',
    });
    expect(one(everything, 'PriorityClass', 'py-podyard-priority').value).toBe(1_001_000);
  });

  test('catalog and recipes of the values are files that the processes read', () => {
    const { data } = one(everything, 'ConfigMap', 'py-podyard-settings');
    for (const [name, setting] of [
      ['catalog', 'PODYARD_CATALOG'],
      ['recipes', 'PODYARD_RECIPES'],
    ] as const) {
      const file = one(everything, 'ConfigMap', `py-podyard-${name}`).data[`${name}.json`];
      expect(JSON.parse(file)).toEqual(EVERYTHING[name]);
      for (const { spec } of ofKind(everything, 'Deployment')) {
        const [container] = spec.template.spec.containers;
        const mount = container.volumeMounts.find((one: { name: string }) => one.name === name);
        expect(data[setting]).toBe(`${mount.mountPath}/${name}.json`);
        expect(spec.template.spec.volumes).toContainEqual({ name, configMap: { name: `py-podyard-${name}` } });
      }
    }
  });

  test('a changed setting restarts the processes, and an unchanged release restarts none', async () => {
    const template = async (values: object) =>
      JSON.stringify(one(await render(programs, values), 'Deployment', 'py-podyard-server').spec.template);
    const before = await template(MINIMUM);
    expect(await template(MINIMUM)).toBe(before);
    expect(await template(merged(MINIMUM, { config: { PODYARD_LOG_LEVEL: 'debug' } }))).not.toBe(before);
  });

  test('helm lint reports nothing', async () => {
    await withValues(MINIMUM, async (file) => {
      const { stdout } = await run(programs.helm, [
        'lint',
        CHART,
        '--strict',
        '--values',
        file,
        '--kube-version',
        '1.28',
      ]);
      expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
    });
  });

  test('its appVersion is the version of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')) as { version: string };
    const image = one(await render(programs, MINIMUM), 'Deployment', 'py-podyard-server').spec.template.spec
      .containers[0];
    expect(image.image).toBe(`podyard:${version}`);
  });
});

function merged(base: object, more: object): object {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(more)) {
    const known = result[name];
    const areObjects = [known, value].every(
      (each) => typeof each === 'object' && each !== null && !Array.isArray(each),
    );
    result[name] = areObjects ? merged(known as object, value as object) : value;
  }
  return result;
}
