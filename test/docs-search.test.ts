/** Questions in the words of those who ask, and where the documentation answers them. */
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type Page, readPages } from '../scripts/docs/pages.ts';
import { referencePages } from '../scripts/docs/reference.ts';
import { type SearchIndex, search } from '../scripts/docs/search.ts';
import { searchIndexOf } from '../scripts/docs/search-index.ts';

const HITS = 2;
const MAX_INDEX_BYTES = 500_000;

/** Each with its answers: pages, or sections of them. The first one is the best. */
const QUESTIONS: [question: string, ...answers: string[]][] = [
  ['how do I run a job from curl', 'start#send-it-a-job', 'interface-queue#submitting', 'existing-clients#clients'],
  ['my worker is stuck in INITIALIZING', 'troubleshooting#workers', 'errors#from-a-worker'],
  ['what does it cost', 'command-line#costs', 'interface-rest#billing'],
  ['how do I take a backup', 'operations#backup'],
  ['restore the database after a disaster', 'operations#restore'],
  ['install it on my linux server', 'install'],
  ['can I run it without docker', 'install', 'start#start-the-server', 'images#engines'],
  ['I lost the admin key', 'users#if-no-admin-can-sign-in'],
  ['how do I add a user', 'users#create-a-user'],
  ['log in with google', 'sign-in#google'],
  ['upgrade to a new version', 'upgrade', 'install#upgrade'],
  ['set up a machine with nvidia gpus', 'gpu-machine'],
  ['share one gpu between several workers', 'gpus#shared-gpus', 'flashboot#share-gpus-between-endpoints'],
  ['limit how many gpus a user can use', 'users#limit-a-user', 'interface-rest#limits-by-user'],
  ['helm chart', 'kubernetes', 'cluster-walk'],
  ['use the openai python client', 'existing-clients', 'interface-queue#openai-routes', 'models#serve-a-model'],
  ['move my endpoints from runpod', 'from-runpod'],
  [
    'pull a private docker image',
    'images',
    'kubernetes#private-images',
    'command-line',
    'security#registries-of-images',
  ],
  ['pass a password to my worker', 'secrets'],
  ['why is my job still IN_QUEUE', 'scaling#why-is-this-job-waiting', 'troubleshooting#jobs', 'errors#from-a-job'],
  ['keep one worker always warm', 'scaling', 'flashboot'],
  ['cold start is too slow', 'flashboot', 'troubleshooting#jobs', 'models'],
  ['scale up at 9 in the morning on weekdays', 'scaling#warm-mornings', 'interface-rest#schedules'],
  ['serve llama from hugging face', 'models'],
  ['upload files to a volume', 'files'],
  ['ssh into a pod', 'pods#ssh-and-jupyter'],
  ['jupyter notebook', 'pods#ssh-and-jupyter'],
  ['call my url when a job is done', 'interface-queue#webhooks'],
  ['websocket', 'load-balancing'],
  ['cancel a job', 'interface-queue#cancel-retry-and-purge', 'command-line#jobs'],
  ['how long are results kept', 'interface-queue#retention'],
  ['use another port than 8080', 'configuration', 'install'],
  ['https with my own domain', 'domain'],
  ['use my own postgres', 'database'],
  ['second gpu server', 'several-machines'],
  ['prometheus alerts', 'alerts'],
  ['who deleted my endpoint', 'audit'],
  ['deploy a folder with python code', 'deploy'],
  ['undo a bad deploy', 'upgrade#endpoints', 'deploy', 'start#change-it'],
  ['build when I push to github', 'git'],
  ['429 too many requests', 'errors#from-the-api', 'interface-rest#rate-limits'],
  ['uninstall', 'install#uninstall'],
  ['no capacity', 'errors#from-an-endpoint', 'scaling', 'troubleshooting#workers'],
  ['train on several nodes', 'clusters'],
  ['how big a machine do I need', 'sizing'],
  ['share endpoints with my colleagues', 'teams'],
  ['is it safe to run code of strangers', 'security'],
  ['run thousands of prompts over night', 'batches'],
  ['write a worker in typescript', 'javascript-worker'],
  ['test my client against missing gpus', 'shortage'],
  ['open a shell in a worker', 'console#terminal', 'command-line#into-a-pod-or-worker'],
  ['my pod answers 502', 'troubleshooting#pods-and-http-endpoints', 'errors#from-the-api'],
  ['podman', 'images#engines', 'install'],
  ['api key scopes', 'command-line#keys-and-users', 'users#look-after-keys', 'interface-rest#authentication'],
  ['stream tokens to my client', 'existing-clients#language-models', 'interface-queue#streams'],
  ['set an environment variable', 'start#change-it'],
  ['change the GPU of an endpoint', 'start#change-it', 'gpus#who-gets-which'],
  ['see the logs of a worker that ended', 'start#see-what-happened', 'interface-logs'],
  ['how long are logs kept', 'interface-logs#retention'],
  ['why was my job run twice', 'interface-queue#redelivery', 'troubleshooting#jobs'],
  ['CUDA out of memory', 'troubleshooting#jobs', 'troubleshooting#workers'],
  ['limit the cost per month', 'command-line#costs', 'interface-rest#budgets'],
  ['maximum size of a request', 'errors#from-the-api', 'interface-queue#submitting'],
  ['priority of jobs', 'interface-queue#order-and-queue-limit'],
  ['run a job every night', 'batches'],
  ['several models on one gpu', 'models#two-models-that-take-turns-on-one-gpu', 'flashboot'],
  ['stop a pod after an hour', 'pods#stop-by-itself'],
  ['copy files from my laptop', 'files'],
  ['change the size of a volume', 'interface-rest#network-volumes'],
  ['rotate an API key', 'users#look-after-keys', 'api-api-keys#rotateApiKey'],
  ['health check path of my server', 'load-balancing#what-your-server-must-do'],
  ['list endpoints as json', 'command-line#for-scripts'],
  ['docker hub rate limit', 'configuration#registries'],
  ['install without internet, air gapped', 'install#without-a-network-or-with-a-mirror'],
  ['how do I stop the server', 'install#then'],
  ['connect two machines', 'several-machines'],
];

const pages = [...readPages(), ...referencePages()];
const index: SearchIndex = searchIndexOf(
  pages.filter(({ part }) => part !== 'contributors').flatMap(({ sections }) => sections),
);
const hitsOf = (question: string) => search(index, question).map(({ href }) => href.slice('./'.length));
/** A page answers with each of its sections, a section with itself. */
const isAnswer = (hit: string, answer: string) =>
  hit === answer || (!answer.includes('#') && hit.split('#')[0] === answer);

test.each(QUESTIONS)('“%s” is answered by one of the first two hits', (question, ...answers) => {
  const hits = hitsOf(question);
  expect(hits.slice(0, HITS).some((hit) => answers.some((answer) => isAnswer(hit, answer))) ? [] : hits).toEqual([]);
});

test('every answer is a page or a heading that exists', () => {
  const known = pages.flatMap(({ slug, headings }) => [slug, ...headings.map(({ id }) => `${slug}#${id}`)]);
  expect(QUESTIONS.flatMap(([, ...answers]) => answers).filter((answer) => !known.includes(answer))).toEqual([]);
});

test('every page for users is two clicks from the first one, along links of their texts', () => {
  const users = pages.filter(({ part }) => part === 'users');
  const first = users.find(({ slug }) => slug === '')!;
  const linksOf = (page: Page) =>
    [...page.markdown.matchAll(/\]\(([^):#]+\.md)/g)].flatMap(([, path]) => {
      const file = join(dirname(page.file), path!);
      return users.filter((other) => other.file === file);
    });
  const reached = new Set([first, ...linksOf(first), ...linksOf(first).flatMap(linksOf)]);
  expect(users.filter((page) => !reached.has(page)).map(({ file }) => file)).toEqual([]);
});

test('half a word, another form and a typing error find the same', () => {
  const ways = ['kubernetes install', 'installing kubernetes', 'kubernets install', 'install kubern'];
  for (const question of ways) expect([question, hitsOf(question)[0]]).toEqual([question, 'kubernetes#install']);
  expect(hitsOf('zzzzqqq')).toEqual([]);
  expect(hitsOf('')).toEqual([]);
});

test('operations of the API are found by name and path; decisions and what is for contributors are not', () => {
  expect(hitsOf('createEndpoint').slice(0, HITS)).toContain('api-serverless#createEndpoint');
  expect(hitsOf('POST /v2/account/secrets').slice(0, HITS)).toContain('api-secrets#createSecret');
  const contributors = pages.filter(({ part }) => part === 'contributors').map(({ slug }) => slug);
  expect(contributors).toContain('architecture');
  const found = QUESTIONS.flatMap(([question]) => hitsOf(question)).map((hit) => hit.split('#')[0]!);
  expect(found.filter((slug) => contributors.includes(slug))).toEqual([]);
});

test('the index stays small', () => {
  expect(JSON.stringify(index).length).toBeLessThan(MAX_INDEX_BYTES);
});
