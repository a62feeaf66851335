import { readAnchor, readCertificateHash, readFingerprint } from '../src/arguments.ts';
import { type Known, reportLines } from '../src/report.ts';
import { verify } from '../src/verify.ts';
import { webCryptography } from '../src/web-cryptography.ts';

/* Verifies a file that is dropped or chosen. Nothing is loaded and nothing leaves. */

function element<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`no ${id} on the page`);
  return found;
}

const file = element('file', HTMLInputElement);
const drop = element('drop', HTMLDivElement);
const result = element('result', HTMLDivElement);

function linesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((line) => line !== '');
}

function read<Value>(
  texts: readonly string[],
  reader: (text: string) => Value | undefined,
  what: string,
): Value[] {
  return texts.map((text) => {
    const value = reader(text);
    if (value === undefined) throw new Error(`This is no ${what}: ${text}`);
    return value;
  });
}

function readKnown(): Known {
  const [key] = read(linesIn(element('key', HTMLInputElement).value), readFingerprint, 'fingerprint');
  const roots = read(linesIn(element('roots', HTMLTextAreaElement).value), readFingerprint, 'fingerprint');
  const tsa = read(linesIn(element('tsa', HTMLTextAreaElement).value), readCertificateHash, 'SHA-256 in hex');
  return {
    key,
    anchors: read(linesIn(element('anchors', HTMLTextAreaElement).value), readAnchor, 'anchor'),
    roots: roots.length === 0 ? undefined : roots,
    tsa: tsa.length === 0 ? undefined : tsa,
  };
}

/** A stream is not iterable in every browser. */
async function* piecesOf(chosen: File): AsyncGenerator<Uint8Array> {
  const reader = chosen.stream().getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}

async function show(chosen: File | undefined): Promise<void> {
  if (chosen === undefined) return;
  result.textContent = 'Verifying…';
  try {
    const report = await verify(piecesOf(chosen), readKnown(), webCryptography);
    result.textContent = [chosen.name, ...reportLines(report)].join('\n');
  } catch (error) {
    result.textContent = `CANNOT TELL\n  ? ${error instanceof Error ? error.message : String(error)}`;
  }
}

const again = () => void show(file.files?.[0]);
file.addEventListener('change', again);
for (const id of ['key', 'anchors', 'roots', 'tsa'])
  document.getElementById(id)?.addEventListener('change', again);
drop.addEventListener('dragover', (event) => {
  event.preventDefault();
  drop.classList.add('over');
});
drop.addEventListener('dragleave', () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  void show(event.dataTransfer?.files[0]);
});
