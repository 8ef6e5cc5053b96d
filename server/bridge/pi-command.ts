import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { PiCommand } from './pi.ts';

/** The Pi of our own `package.json`, started with the Node that runs us. */
export function ownPi(): PiCommand {
	const manifest = findPackageJSON('@earendil-works/pi-coding-agent', import.meta.url);
	if (!manifest) throw new Error('The Pi of Holdfast is not installed: run `npm ci`.');
	return { command: process.execPath, args: [join(dirname(manifest), 'dist/bundle/cli.js')] };
}

/**
 * Splits a command line like `ssh host "my pi"` into words, as a shell would, without expanding
 * anything.
 * @throws {Error} when it is empty or a quote is left open
 */
export function parsePiCommand(line: string): PiCommand {
	const words: string[] = [];
	const pattern = /\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+)/gy;
	let end = 0;
	for (let match = pattern.exec(line); match; match = pattern.exec(line)) {
		end = pattern.lastIndex;
		words.push(
			match[1]!.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, (_all, double, single, escaped) =>
				double !== undefined ? double.replace(/\\(.)/g, '$1') : (single ?? escaped),
			),
		);
	}

	const [command, ...args] = words;
	if (command === undefined)
		throw new Error('--pi needs a command, for example --pi "ssh host pi".');
	if (line.slice(end).trim() !== '') throw new Error(`A quote is left open in --pi ${line}`);
	return { command, args };
}
