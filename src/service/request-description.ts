import { InvalidInputError } from './codec/codec-errors.ts';
import { encodePathSegment } from './codec/json.ts';
import { isWireList, type WireObject, type WireValue } from './codec/wire.ts';
import { Secret, secretCommitmentSchema } from './secret.ts';
import type { Interface, RequestDescription, ServiceTask } from './task.ts';

/**
 * @param keys additional record fields to request
 * @throws {InvalidInputError} if the interface can't transmit the input
 */
export function describeRequest<I, O>(
  task: ServiceTask<I, O>,
  input: I,
  via: Interface,
  keys: readonly string[] = [],
): RequestDescription {
  const parseResult = task.input.safeParse(input);
  if (!parseResult.success) {
    const { issues } = parseResult.error;
    // Issues of the whole input have an empty path.
    const fields = [...new Set(issues.map(({ path }) => path.join('.')))].filter((field) => field !== '');
    const problems = issues.map(({ path, message }) => `"${path.join('.')}" ${message}`).join('; ');
    throw new InvalidInputError(problems, { code: 'fields_invalid', fields });
  }
  return via === 'json' ? describeJson(task, input) : describeXml(task, input, keys);
}

/**
 * Replaces commitments with their secrets.
 * @param secrets keyed by commitment
 * @throws {InvalidInputError} if a secret is missing
 */
export function insertSecrets(
  description: RequestDescription,
  secrets: ReadonlyMap<string, Secret>,
): RequestDescription {
  const insert = (value: WireValue): WireValue => {
    if (typeof value !== 'object' || value instanceof Secret) return value;
    if (isWireList(value)) return value.map(insert);
    const commitment = secretCommitmentSchema.safeParse(value).data;
    if (commitment === undefined) return insertInObject(value);
    const secret = secrets.get(commitment.secret);
    if (secret === undefined) throw new InvalidInputError('a secret of the request is missing');
    return secret;
  };
  const insertInObject = (values: WireObject): WireObject =>
    Object.fromEntries(
      Object.entries(values).map(([field, value]) => [field, value === undefined ? value : insert(value)]),
    );
  if (description.interface === 'xml')
    return { ...description, element: insertInObject(description.element) };
  const { body } = description;
  return body === undefined ? description : { ...description, body: insert(body) };
}

function describeJson<I, O>({ json }: ServiceTask<I, O>, input: I): RequestDescription {
  if (json === undefined) throw new InvalidInputError('the JSON interface does not support this task');
  const query = json.query?.(input) ?? [];
  return {
    interface: 'json',
    method: json.method,
    path: `/${json.path(input).map(encodePathSegment).join('/')}`,
    ...(query.length === 0 ? {} : { query }),
    ...(json.body === undefined ? {} : { body: json.body(input) }),
  };
}

function describeXml<I, O>(
  { xml }: ServiceTask<I, O>,
  input: I,
  keys: readonly string[],
): RequestDescription {
  if (xml === undefined) throw new InvalidInputError('the XML interface does not support this task');
  if (keys.length > 0 && xml.takesKeys !== true) {
    throw new InvalidInputError('"keys" cannot be sent: the XML interface has no such field', {
      code: 'field_not_documented',
      field: 'keys',
      interface: 'xml',
    });
  }
  return { interface: 'xml', code: xml.code, element: xml.elements(input, keys) };
}
