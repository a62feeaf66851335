import { domainToASCII, domainToUnicode } from 'node:url';
import { Refusal } from './refusal.ts';

/* Names in .rest follow “Profile of the .rest zone” in the service's API documentation. Others follow DNS rules. */

const LABEL_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const EMAIL_PATTERN = /^[^\s@<>,;]+@[^\s@<>,;.]+(?:\.[^\s@<>,;.]+)+$/;

export function checkDomainName(name: string): void {
  const labels = name.split('.');
  if (!/^[\x21-\x7e]+$/.test(name) || name !== name.toLowerCase()) {
    throw new Refusal('rule', 'name: a domain name is written in lower-case ASCII (xn--… for other letters)');
  }
  if (labels.length < 2 || name.length > 253) throw new Refusal('rule', `name: ${name} is not a domain name`);
  const invalidLabel = labels.find((label) => !LABEL_PATTERN.test(label));
  if (invalidLabel !== undefined) {
    throw new Refusal(
      'rule',
      `name: the label "${invalidLabel}" must have 1 to 63 letters, digits or inner hyphens`,
    );
  }
  if (isRestName(name)) checkRestName(name, labels);
}

function checkRestName(name: string, labels: readonly string[]): void {
  const [label = ''] = labels;
  if (labels.length !== 2) throw new Refusal('rule', `name: ${name} is not directly below .rest`);
  if (label.slice(2, 4) !== '--') return;
  const unicode = domainToUnicode(label);
  if (!label.startsWith('xn--') || unicode === '' || domainToASCII(unicode) !== label) {
    throw new Refusal('rule', `name: "${label}" is not a valid internationalised label`);
  }
  if ([...unicode].some((character) => (character.codePointAt(0) ?? 0) > 0xff)) {
    throw new Refusal('rule', `name: ${name} has letters outside ISO 8859-1`);
  }
}

function isRestName(name: string): boolean {
  return name.endsWith('.rest');
}

export function checkNameservers(name: string, nameServers: readonly string[]): void {
  const [min, max] = isRestName(name) ? [2, 7] : [1, 13];
  if (nameServers.length < min || nameServers.length > max) {
    throw new Refusal('nameservers', `nameServers: ${min} to ${max} are needed, ${nameServers.length} given`);
  }
  for (const [index, server] of nameServers.entries()) {
    const labels = server.split('.');
    if (server.length > 253 || labels.length < 2 || !labels.every((label) => LABEL_PATTERN.test(label))) {
      throw new Refusal('nameservers', `nameServers[${index}].name: "${server}" is not a host name`);
    }
    if (nameServers.indexOf(server) !== index) {
      throw new Refusal('nameservers', `nameServers[${index}].name: ${server} is given twice`);
    }
  }
}

export function looksLikeEmail(text: string): boolean {
  return text.length <= 254 && EMAIL_PATTERN.test(text);
}
