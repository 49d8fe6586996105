import { Anchor, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { bytesText } from '../../../../src/core/text/bytes-text.ts';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { Hint } from '../../ui/hint.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { EmptyNote, Loaded } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { NO_VALUE } from '../../ui/text/format.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import type { EndpointTabProps } from '../endpoints/endpoint-tab-props.ts';
import { tryRelease } from '../endpoints/releases/try-release.ts';
import { fetchText, type StoredModel, shortCommit } from './model-values.ts';
import { ModelsField } from './models-field.tsx';
import { storedModelsQuery } from './models-query.ts';
import { endpointModelsQuery, requestOf } from './resolve-model.ts';

type EndpointModel = Schemas['EndpointModels']['models'][number];

/** The models of an endpoint's newest release, whether the machine has them, and a form that replaces them. */
export function EndpointModels({ endpoint: { id } }: EndpointTabProps) {
  const query = useQuery(endpointModelsQuery(id));
  return (
    <Loaded query={query}>
      {({ models }) => (
        <Stack>
          <Shown models={models} />
          <Edit key={JSON.stringify(models)} id={id} models={models} />
        </Stack>
      )}
    </Loaded>
  );
}

function Shown({ models }: { models: readonly EndpointModel[] }) {
  const stored = useQuery(storedModelsQuery);
  if (models.length === 0) {
    return (
      <EmptyNote>This endpoint has no models: its workers have what is in the image, and what they download.</EmptyNote>
    );
  }
  return (
    <SmallTable
      label="Models"
      titles={['Model', 'Revision', 'Commit', 'Files', 'Size', 'Token', 'Machine']}
      minWidth={820}
    >
      {models.map((model) => (
        <Table.Tr key={model.id}>
          <Table.Td>
            <Anchor component={Link} to={`/models?q=${encodeURIComponent(model.name)}`} size="sm">
              <Name>{model.name}</Name>
            </Anchor>
          </Table.Td>
          <Table.Td>{model.revision === null ? NO_VALUE : <Name>{model.revision}</Name>}</Table.Td>
          <Table.Td ff="monospace" title={visibleText(model.commit)}>
            {shortCommit(model.commit)}
          </Table.Td>
          <Table.Td className="figure">{model.files}</Table.Td>
          <Table.Td className="figure">{bytesText(model.bytes)}</Table.Td>
          <Table.Td>{model.tokenSecret ? <Name>{model.tokenSecret}</Name> : NO_VALUE}</Table.Td>
          <Table.Td>
            <OnMachine model={model} stored={stored.data?.models.find((one) => one.id === model.id)} />
          </Table.Td>
        </Table.Tr>
      ))}
    </SmallTable>
  );
}

function OnMachine({ model, stored }: { model: EndpointModel; stored: StoredModel | undefined }) {
  const problem = model.problem ?? stored?.problem ?? null;
  if (problem !== null) {
    return (
      <Text size="sm" className="bad">
        {visibleText(problem)}
      </Text>
    );
  }
  if (!stored) return 'The next start fetches it';
  return stored.state === 'STORED' ? 'Stored' : fetchText(stored);
}

function Edit({ id, models }: { id: string; models: readonly EndpointModel[] }) {
  const before = models.map(requestOf);
  const [wanted, setWanted] = useState(before);
  const queries = useQueryClient();
  const save = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () =>
      unwrap(api.PUT('/v2/serverless/{id}/models', { params: { path: { id } }, body: { models: wanted } })),
    onSuccess: async (saved) => {
      queries.setQueryData(endpointModelsQuery(id).queryKey, saved);
      await tryRelease(id);
      await queries.invalidateQueries({ queryKey: ['releases', id] });
      notifySuccess('Models saved.');
    },
  });
  const isChanged = JSON.stringify(before) !== JSON.stringify(wanted);
  return (
    <Stack maw={820}>
      <ModelsField value={wanted} onChange={setWanted} error={save.error?.message} />
      <Hint size="xs">Saving asks what each branch is now, and makes a release if anything differs.</Hint>
      <Group>
        <Button loading={save.isPending} disabled={!isChanged} onClick={() => save.mutate()}>
          Save models
        </Button>
      </Group>
    </Stack>
  );
}
