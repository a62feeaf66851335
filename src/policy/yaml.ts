import { CST, Document, isScalar, Lexer, LineCounter, parseDocument, visit } from 'yaml';
import type { PolicyRule, PolicyVocabulary } from './policy.ts';
import { MAX_RULES, type PolicyIssue, parseRules, serializeRule } from './rule-text.ts';

/*
 * All scalars are read as text, so `over: 100.00` never becomes a floating-point number. The file is untrusted: deep
 * nesting could crash the recursive parser, and aliases could multiply the content. Both are rejected first, with the
 * lexer, which isn't recursive.
 */

/** In characters. */
export const MAX_YAML_LENGTH = 128 * 1_024;
/** Far more than the largest allowed policy needs. Limits the time that parsing a malicious file can take. */
const MAX_TOKENS = 120 * MAX_RULES;
const MAX_FLOW_DEPTH = 4;
const MAX_INDENT = 40;
const MAX_INDICATORS_PER_LINE = 4;

/** Issues with the file itself. */
export type YamlIssueCode =
  | 'file_too_large'
  | 'nested_too_deep'
  | 'alias'
  | 'tag'
  | 'directive'
  | 'multiple_documents'
  | 'duplicate_field'
  | 'invalid_key'
  | 'invalid_yaml';

export type YamlIssue =
  | ({ readonly line: number } & PolicyIssue)
  | { readonly line: number; readonly code: YamlIssueCode; readonly given: string | undefined };

export type ParsedYaml =
  | { readonly ok: true; readonly rules: readonly PolicyRule[] }
  | { readonly ok: false; readonly issues: readonly YamlIssue[] };

export function parsePolicyYaml(text: string, vocabulary: PolicyVocabulary): ParsedYaml {
  const source = text.replace(/^\uFEFF/, '');
  const syntaxIssue = findForbiddenSyntax(source);
  if (syntaxIssue !== undefined) return { ok: false, issues: [syntaxIssue] };

  const lineCounter = new LineCounter();
  const getLine = (offset: number) => lineCounter.linePos(offset).line;
  // Pretty errors and the unique-key check take quadratic time. Both are replaced below.
  const document = parseDocument(source, {
    schema: 'failsafe',
    lineCounter,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const code = error.code === 'MULTIPLE_DOCS' ? 'multiple_documents' : 'invalid_yaml';
    return { ok: false, issues: [{ line: getLine(error.pos[0]), code, given: undefined }] };
  }
  const { invalidKey, duplicateKeys } = findKeyIssues(document, getLine);
  if (invalidKey !== undefined) return { ok: false, issues: [invalidKey] };
  const parsed = parseRules(document.toJS() ?? [], vocabulary);
  if (parsed.ok && duplicateKeys.length === 0) return parsed;
  const issues = (parsed.ok ? [] : parsed.issues).map((issue) => ({
    ...issue,
    line: findLine(document, issue.path, getLine),
  }));
  return { ok: false, issues: [...duplicateKeys, ...issues].sort((a, b) => a.line - b.line) };
}

function findForbiddenSyntax(source: string): YamlIssue | undefined {
  if (source.length > MAX_YAML_LENGTH)
    return { line: 1, code: 'file_too_large', given: String(source.length) };
  let line = 1;
  let tokenCount = 0;
  let flowDepth = 0;
  let indicatorCount = 0;
  let isLineStart = true;
  for (const token of new Lexer().lex(source)) {
    const type = CST.tokenType(token);
    const buildIssue = (code: YamlIssueCode): YamlIssue => ({ line, code, given: token.slice(0, 40) });
    tokenCount += 1;
    if (tokenCount > MAX_TOKENS) return buildIssue('file_too_large');
    if (type === 'alias' || type === 'anchor') return buildIssue('alias');
    if (type === 'tag') return buildIssue('tag');
    if (type === 'directive-line') return buildIssue('directive');
    if (type === 'flow-seq-start' || type === 'flow-map-start') flowDepth += 1;
    if (type === 'flow-seq-end' || type === 'flow-map-end') flowDepth -= 1;
    if (flowDepth === 0 && STRUCTURE_INDICATORS.has(type)) indicatorCount += 1;
    const isIndent = isLineStart && type === 'space';
    if (
      flowDepth > MAX_FLOW_DEPTH ||
      indicatorCount > MAX_INDICATORS_PER_LINE ||
      (isIndent && token.length > MAX_INDENT)
    ) {
      return buildIssue('nested_too_deep');
    }
    const newlineCount = token.split('\n').length - 1;
    line += newlineCount;
    isLineStart = newlineCount > 0;
    if (isLineStart) indicatorCount = 0;
  }
  return undefined;
}

/** Tokens that open a structure within a line. */
const STRUCTURE_INDICATORS: ReadonlySet<CST.TokenType | null> = new Set([
  'seq-item-ind',
  'explicit-key-ind',
  'map-value-ind',
]);

type GetLine = (offset: number) => number;

/** Finds duplicate keys, and the first key that can't be a field name. */
function findKeyIssues(document: Document.Parsed, getLine: GetLine) {
  let invalidKey: YamlIssue | undefined;
  const duplicateKeys: YamlIssue[] = [];
  visit(document, {
    Map(_key, map) {
      const seenFields = new Set<string>();
      for (const { key } of map.items) {
        const line = getLine(findStartOffset(key) ?? 0);
        // Keys of objects must be text, and `__proto__` would set the prototype.
        if (!isScalar(key) || key.value === '__proto__') {
          invalidKey ??= { line, code: 'invalid_key', given: undefined };
          continue;
        }
        const field = String(key.value);
        if (seenFields.has(field)) duplicateKeys.push({ line, code: 'duplicate_field', given: field });
        seenFields.add(field);
      }
    },
  });
  return { invalidKey, duplicateKeys };
}

/** Finds the line of a path, or of its nearest existing parent. */
function findLine(document: Document.Parsed, path: readonly (string | number)[], getLine: GetLine): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    const start = findStartOffset(node);
    if (start !== undefined) return getLine(start);
  }
  return 1;
}

const hasRange = (node: unknown): node is { readonly range: readonly [number, number, number] } =>
  typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);

function findStartOffset(node: unknown): number | undefined {
  return hasRange(node) ? node.range[0] : undefined;
}

export function formatPolicyYaml(rules: readonly PolicyRule[], currency: string): string {
  if (rules.length === 0) return '[]\n';
  const document = new Document(
    rules.map((rule) => serializeRule(rule, currency)),
    { schema: 'failsafe' },
  );
  visit(document, {
    Seq(key, list) {
      if (key !== null) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
