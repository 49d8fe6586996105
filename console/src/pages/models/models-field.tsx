import { Button, Group, Input, Paper, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { fitText, modelText, patternsOf } from './model-values.ts';
import { storedModelsQuery, useSecretNames } from './models-query.ts';
import { type ModelRequest, resolveModel } from './resolve-model.ts';

/** As many as an endpoint may have. */
const MAX_MODELS = 20;

interface ModelsFieldProps {
  value: readonly ModelRequest[];
  onChange: (models: ModelRequest[]) => void;
  error?: string | undefined;
}

/** The models of an endpoint: each is looked up at its origin before it is added. */
export function ModelsField({ value, onChange, error }: ModelsFieldProps) {
  const [answers, setAnswers] = useState<Readonly<Record<string, string>>>({});
  return (
    <Input.Wrapper
      label="Models"
      labelElement="div"
      description="Workers find them on their machine. Each is fetched once."
      error={error && visibleText(error)}
    >
      <Stack gap="xs" mt={4}>
        {value.map((model, index) => (
          <Paper key={keyOf(model)} withBorder p="xs">
            <Group justify="space-between" wrap="nowrap" align="flex-start">
              <Stack gap={0} miw={0}>
                <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                  <Name>{model.source}</Name>
                </Text>
                <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {visibleText(answers[keyOf(model)] ?? detailsOf(model))}
                </Text>
              </Stack>
              <Button
                size="compact-sm"
                variant="default"
                aria-label={visibleText(`Remove ${model.source}`)}
                onClick={() => onChange(value.toSpliced(index, 1))}
              >
                Remove
              </Button>
            </Group>
          </Paper>
        ))}
        {value.length < MAX_MODELS && (
          <AddModel
            taken={value}
            onAdd={(model, answer) => {
              setAnswers({ ...answers, [keyOf(model)]: answer });
              onChange([...value, model]);
            }}
          />
        )}
      </Stack>
    </Input.Wrapper>
  );
}

const keyOf = (model: ModelRequest) => JSON.stringify(model);

function detailsOf({ include = [], exclude = [], tokenSecret }: ModelRequest): string {
  return [
    ...(include.length > 0 ? [`only ${include.join(' ')}`] : []),
    ...(exclude.length > 0 ? [`without ${exclude.join(' ')}`] : []),
    ...(tokenSecret === null ? [] : [`token in ${tokenSecret}`]),
  ].join('; ');
}

interface AddModelProps {
  taken: readonly ModelRequest[];
  onAdd: (model: ModelRequest, answer: string) => void;
}

function AddModel({ taken, onAdd }: AddModelProps) {
  const [source, setSource] = useState('');
  const [exclude, setExclude] = useState('');
  const [tokenSecret, setTokenSecret] = useState<string | null>(null);
  const secrets = useSecretNames();
  const stored = useQuery(storedModelsQuery);
  const add = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async () => {
      const request: ModelRequest = { source: source.trim(), exclude: patternsOf(exclude), tokenSecret };
      if (taken.some((one) => keyOf(one) === keyOf(request))) throw new Error('It is there already.');
      const model = await resolveModel(request);
      const fit = stored.data ? fitText(model, stored.data) : null;
      return { request, answer: [modelText(model), detailsOf(request), fit].filter(Boolean).join('. ') };
    },
    onSuccess: ({ request, answer }) => {
      onAdd(request, answer);
      setSource('');
      setExclude('');
    },
  });
  return (
    <Stack gap="xs">
      <TextInput
        aria-label="Model to add"
        placeholder="hf:owner/name"
        autoComplete="off"
        value={source}
        error={add.error && visibleText(add.error.message)}
        onChange={(event) => {
          add.reset();
          setSource(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault(); // adds the model, and does not send the form
          if (source.trim() !== '') add.mutate();
        }}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          aria-label="Files to leave out"
          placeholder="Files to leave out, such as *.gguf"
          autoComplete="off"
          value={exclude}
          onChange={(event) => setExclude(event.currentTarget.value)}
        />
        <Select
          aria-label="Secret with a token"
          placeholder="Secret with a token, if it is gated"
          data={secrets}
          clearable
          value={tokenSecret}
          onChange={setTokenSecret}
        />
      </SimpleGrid>
      <Group>
        <Button
          variant="default"
          size="xs"
          disabled={source.trim() === ''}
          loading={add.isPending}
          onClick={() => add.mutate()}
        >
          Add model
        </Button>
      </Group>
    </Stack>
  );
}
