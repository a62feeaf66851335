import { CST, Document, isScalar, Lexer, LineCounter, parseDocument, visit } from 'yaml';
import type { PolicyRule, PolicyVocabulary } from './policy.ts';
import { MAX_RULES, type PolicyIssue, parseRules, ruleToText } from './rule-text.ts';

/*
 * The policy as a YAML file. All scalars are read as text, so `over: 100.00` never becomes a floating-point number. The
 * file is untrusted: deep nesting could crash the recursive parser, and aliases multiply the content. The lexer, which
 * isn't recursive, first checks the file and rejects both.
 */

/** In characters. */
export const MAX_YAML_LENGTH = 128 * 1_024;
/** Far more tokens than the largest allowed policy needs. Limits the time that a malicious file can take. */
const MAX_TOKENS = 120 * MAX_RULES;
const MAX_FLOW_DEPTH = 4;
const MAX_INDENT = 40;
const MAX_INDICATORS_IN_LINE = 4;

/** Issues of the file itself. */
export type YamlIssueCode =
  | 'file_too_large'
  | 'nested_too_deep'
  | 'alias'
  | 'tag'
  | 'directive'
  | 'several_documents'
  | 'duplicate_field'
  | 'unreadable_key'
  | 'not_yaml';

export type YamlIssue =
  | ({ readonly line: number } & PolicyIssue)
  | { readonly line: number; readonly code: YamlIssueCode; readonly given: string | undefined };

export type ParsedYaml =
  | { readonly ok: true; readonly rules: readonly PolicyRule[] }
  | { readonly ok: false; readonly issues: readonly YamlIssue[] };

/** Every issue has its line number. */
export function parsePolicyYaml(text: string, vocabulary: PolicyVocabulary): ParsedYaml {
  const source = text.replace(/^\uFEFF/, '');
  const forbidden = findForbiddenSyntax(source);
  if (forbidden !== undefined) return { ok: false, issues: [forbidden] };

  const lineCounter = new LineCounter();
  const lineAt = (offset: number) => lineCounter.linePos(offset).line;
  // Pretty errors and the check for unique keys take quadratic time. Lines and keys are checked below instead.
  const document = parseDocument(source, {
    schema: 'failsafe',
    lineCounter,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const code = error.code === 'MULTIPLE_DOCS' ? 'several_documents' : 'not_yaml';
    return { ok: false, issues: [{ line: lineAt(error.pos[0]), code, given: undefined }] };
  }
  const { unreadable, duplicates } = findKeyIssues(document, lineAt);
  if (unreadable !== undefined) return { ok: false, issues: [unreadable] };
  const read = parseRules(document.toJS() ?? [], vocabulary);
  if (read.ok && duplicates.length === 0) return read;
  const issues = (read.ok ? [] : read.issues).map((issue) => ({
    ...issue,
    line: findLine(document, issue.path, lineAt),
  }));
  return { ok: false, issues: [...duplicates, ...issues].sort((a, b) => a.line - b.line) };
}

/** The first harmful construct. No policy needs these. */
function findForbiddenSyntax(source: string): YamlIssue | undefined {
  if (source.length > MAX_YAML_LENGTH)
    return { line: 1, code: 'file_too_large', given: String(source.length) };
  let line = 1;
  let tokens = 0;
  let flowDepth = 0;
  let indicators = 0;
  let isLineStart = true;
  for (const token of new Lexer().lex(source)) {
    const type = CST.tokenType(token);
    const issue = (code: YamlIssueCode): YamlIssue => ({ line, code, given: token.slice(0, 40) });
    tokens += 1;
    if (tokens > MAX_TOKENS) return issue('file_too_large');
    if (type === 'alias' || type === 'anchor') return issue('alias');
    if (type === 'tag') return issue('tag');
    if (type === 'directive-line') return issue('directive');
    if (type === 'flow-seq-start' || type === 'flow-map-start') flowDepth += 1;
    if (type === 'flow-seq-end' || type === 'flow-map-end') flowDepth -= 1;
    if (flowDepth === 0 && INDICATORS.has(type)) indicators += 1;
    const isIndent = isLineStart && type === 'space';
    if (
      flowDepth > MAX_FLOW_DEPTH ||
      indicators > MAX_INDICATORS_IN_LINE ||
      (isIndent && token.length > MAX_INDENT)
    ) {
      return issue('nested_too_deep');
    }
    const newlines = token.split('\n').length - 1;
    line += newlines;
    isLineStart = newlines > 0;
    if (isLineStart) indicators = 0;
  }
  return undefined;
}

/** Tokens that open a structure within a line. */
const INDICATORS: ReadonlySet<CST.TokenType | null> = new Set([
  'seq-item-ind',
  'explicit-key-ind',
  'map-value-ind',
]);

type LineAt = (offset: number) => number;

/** Duplicate keys of a map, and the first key that isn't a field name. */
function findKeyIssues(document: Document.Parsed, lineAt: LineAt) {
  let unreadable: YamlIssue | undefined;
  const duplicates: YamlIssue[] = [];
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const line = lineAt(findStart(key) ?? 0);
        // Only text can be an object's key, and `__proto__` would set the object's prototype.
        if (!isScalar(key) || key.value === '__proto__') {
          unreadable ??= { line, code: 'unreadable_key', given: undefined };
          continue;
        }
        const field = String(key.value);
        if (seen.has(field)) duplicates.push({ line, code: 'duplicate_field', given: field });
        seen.add(field);
      }
    },
  });
  return { unreadable, duplicates };
}

/** The line of a path, or of its nearest existing parent. */
function findLine(document: Document.Parsed, path: readonly (string | number)[], lineAt: LineAt): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    const start = findStart(node);
    if (start !== undefined) return lineAt(start);
  }
  return 1;
}

const hasRange = (node: unknown): node is { readonly range: readonly [number, number, number] } =>
  typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);

function findStart(node: unknown): number | undefined {
  return hasRange(node) ? node.range[0] : undefined;
}

/** The inverse of {@link parsePolicyYaml}. */
export function formatPolicyYaml(rules: readonly PolicyRule[], currency: string): string {
  if (rules.length === 0) return '[]\n';
  const document = new Document(
    rules.map((rule) => ruleToText(rule, currency)),
    { schema: 'failsafe' },
  );
  visit(document, {
    Seq(key, list) {
      if (key !== null) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
