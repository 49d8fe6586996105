import { Anchor, Badge, Button, Checkbox, Group, Paper, Progress, Stack, Text, TextInput } from '@mantine/core';
import { IconBrain, IconPin, IconPinnedOff } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { bytesText } from '../../../../src/core/text/bytes-text.ts';
import { api, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import { type Column, NewLink, RecordPage } from '../../ui/tables/record-page.tsx';
import { NO_VALUE } from '../../ui/text/format.ts';
import { Name, RecordName } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import {
  fetchPercent,
  fetchText,
  MODEL_STATES,
  type ModelRoom,
  modelState,
  patternsOf,
  roomBar,
  type StoredModel,
  shortCommit,
} from './model-values.ts';
import { storedModelsQuery } from './models-query.ts';
import { TokenSelect } from './token-select.tsx';

const STATE_ORDER = Object.keys(MODEL_STATES);
const STATES = { table: MODEL_STATES, of: modelState };
const COLUMNS: Column<StoredModel>[] = [
  {
    title: 'Model',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: ({ name, commit }) => <RecordName title={visibleText(`${name}@${shortCommit(commit)}`)}>{name}</RecordName>,
  },
  {
    title: 'Size',
    width: '90px',
    isNumber: true,
    sortKey: 'size',
    sortValue: ({ bytes }) => bytes,
    render: ({ bytes }) => bytesText(bytes),
  },
  {
    title: 'State',
    width: '320px',
    sortKey: 'state',
    sortValue: (model) => STATE_ORDER.indexOf(modelState(model)),
    render: (model) => <State model={model} />,
  },
  { title: 'Endpoints', width: '170px', render: ({ endpoints }) => <Endpoints endpoints={endpoints} /> },
  {
    title: 'Last used',
    width: '120px',
    isWide: true,
    sortKey: 'used',
    sortValue: ({ usedAt }) => (usedAt ? Date.parse(usedAt) : null),
    render: ({ usedAt }) => (usedAt ? <RelativeTime at={usedAt} /> : NO_VALUE),
  },
];
const ADMIN_COLUMNS: Column<StoredModel>[] = [
  ...COLUMNS,
  { title: 'Actions', width: '130px', render: (model) => <Actions model={model} /> },
];
const idOf = ({ id }: StoredModel) => id;
const textOf = ({ name, commit, endpoints }: StoredModel) =>
  `${name} ${commit} ${endpoints.map((endpoint) => endpoint.name).join(' ')}`;

/** The models on the machine: for admins all, for others those of their endpoints. */
export function ModelsPage() {
  const query = useQuery(storedModelsQuery);
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  return (
    <RecordPage
      title="Models"
      action={<PageActions isAdmin={isAdmin} />}
      query={{ ...query, data: query.data?.models }}
      empty={{
        icon: IconBrain,
        title: 'No models on the machine yet',
        text: 'The first worker of an endpoint that has models fetches them, once for all. Deploy one to begin.',
      }}
      label="models"
      columns={isAdmin ? ADMIN_COLUMNS : COLUMNS}
      idOf={idOf}
      textOf={textOf}
      states={STATES}
      defaultSort="state"
    >
      {query.data?.room && <Room room={query.data.room} />}
    </RecordPage>
  );
}

function PageActions({ isAdmin }: { isAdmin: boolean }) {
  return (
    <>
      {isAdmin && <FetchAhead />}
      <NewLink to="/models/deploy">Deploy a model</NewLink>
    </>
  );
}

function Room({ room }: { room: ModelRoom }) {
  const { stuckPercent, otherPercent, text } = roomBar(room);
  return (
    <Paper withBorder p="sm">
      <Hint size="xs">Disk for models</Hint>
      <Text className="figure" fw={600}>
        {text}
      </Text>
      <Progress.Root mt={6}>
        <Progress.Section value={stuckPercent} color="blue" aria-label="Pinned or in use" />
        <Progress.Section value={otherPercent} color="gray" aria-label="May leave when room is needed" />
      </Progress.Root>
    </Paper>
  );
}

function State({ model }: { model: StoredModel }) {
  const { state, pinned, inUse, problem } = model;
  if (problem !== null) {
    return (
      <Text size="sm" className="bad" title={visibleText(problem)} lineClamp={2}>
        Failed: {visibleText(problem)}
      </Text>
    );
  }
  if (state === 'FETCHING') return <Fetching model={model} />;
  return (
    <Group gap={4} wrap="nowrap">
      <Text size="sm">Stored</Text>
      {pinned && (
        <Badge variant="light" tt="none">
          Pinned
        </Badge>
      )}
      {inUse && (
        <Badge variant="default" tt="none">
          In use
        </Badge>
      )}
    </Group>
  );
}

function Fetching({ model }: { model: StoredModel }) {
  const percent = fetchPercent(model);
  return (
    <Stack gap={2}>
      <Text size="xs" className="figure">
        {fetchText(model)}
      </Text>
      {percent !== null && <Progress size="sm" value={percent} aria-label={visibleText(`Fetching ${model.name}`)} />}
    </Stack>
  );
}

function Endpoints({ endpoints }: Pick<StoredModel, 'endpoints'>) {
  if (endpoints.length === 0) return NO_VALUE;
  return (
    <Group gap={6}>
      {endpoints.map(({ id, name }) => (
        <Anchor key={id} component={Link} to={`/endpoints/${id}/models`} size="sm">
          <Name>{name}</Name>
        </Anchor>
      ))}
    </Group>
  );
}

function Actions({ model }: { model: StoredModel }) {
  const { id, name, state } = model;
  return (
    <Group gap={4} wrap="nowrap">
      <Pin model={model} />
      <DeleteButton
        what={state === 'STORED' ? 'model' : 'fetch'}
        name={name}
        queryKey="stored-models"
        consequence={
          state === 'STORED'
            ? 'Frees its disk. The next worker that needs the model fetches it again.'
            : 'Ends the fetch. What has come is used by the next one.'
        }
        onConfirm={() => unwrap(api.DELETE('/v2/models/{id}', { params: { path: { id } } }))}
      />
    </Group>
  );
}

function Pin({ model: { id, name, pinned } }: { model: StoredModel }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: () => unwrap(api.PATCH('/v2/models/{id}', { params: { path: { id } }, body: { pinned: !pinned } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['stored-models'] }),
  });
  const Icon = pinned ? IconPinnedOff : IconPin;
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<Icon size={14} aria-hidden />}
      loading={change.isPending}
      aria-label={visibleText(`${pinned ? 'Unpin' : 'Pin'} ${name}`)}
      onClick={() => change.mutate()}
    >
      {pinned ? 'Unpin' : 'Pin'}
    </Button>
  );
}

function FetchAhead() {
  return (
    <FormButton
      label="Fetch ahead"
      isPlain
      isAskedFor
      title="Fetch a model ahead"
      queryKey="stored-models"
      submitLabel="Fetch"
      initial={{ source: '', exclude: '', tokenSecret: '', pinned: false }}
      onSubmit={({ source, exclude, tokenSecret, pinned }) =>
        unwrap(
          api.POST('/v2/models', {
            body: { source: source.trim(), exclude: patternsOf(exclude), tokenSecret: tokenSecret || null, pinned },
          }),
        )
      }
    >
      {(form) => (
        <>
          <TextInput
            label="Model"
            description="hf:<owner>/<name>, with @<revision> for another branch, tag or commit"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps('source')}
          />
          <TextInput
            label="Files to leave out"
            description="Patterns, such as *.gguf"
            autoComplete="off"
            {...form.getInputProps('exclude')}
          />
          <TokenSelect {...form.getInputProps('tokenSecret')} />
          <Checkbox
            label="Pin it, so that it is never removed to make room"
            {...form.getInputProps('pinned', { type: 'checkbox' })}
          />
        </>
      )}
    </FormButton>
  );
}
