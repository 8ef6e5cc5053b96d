/**
 * Records a real Pi, and plays what was recorded in the place of one: `node recorded-pi.ts record
 * FILE PI…` writes the stdout of that Pi to a file while it is used, `node recorded-pi.ts play FILE`
 * answers each command as that Pi did, and each prompt with all the records that followed the first.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createWriteStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface PiRecord {
	type: string;
	id?: string;
	command?: string;
	data?: { sessionId?: string };
}

const [way, file, ...rest] = process.argv.slice(2);
if (way === 'record') record(file!, rest);
else play(file!);

function record(file: string, [command, ...args]: string[]) {
	const kept = createWriteStream(file, { flags: 'a' });
	const pi = spawn(command!, args, { stdio: ['inherit', 'pipe', 'inherit'] });
	pi.stdout.pipe(kept);
	pi.stdout.pipe(process.stdout);
	process.on('SIGTERM', () => pi.kill());
	pi.on('exit', (code) => (process.exitCode = code ?? 1));
}

function play(file: string) {
	const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
	const records = lines.map((line) => JSON.parse(line) as PiRecord);
	const own = randomUUID();
	const recorded = records.find(({ data }) => data?.sessionId)?.data?.sessionId ?? own;
	const said = (index: number) => `${lines[index]!.replaceAll(recorded, own)}\n`;

	const prompted = records.findIndex(({ command }) => command === 'prompt');
	const answers = new Map<string, PiRecord>();
	for (const [index, { type, command }] of records.entries()) {
		if (type !== 'response') {
			// What a Pi says of itself when it starts.
			if (prompted < 0 || index < prompted) process.stdout.write(said(index));
		} else if (!answers.has(command!)) answers.set(command!, JSON.parse(said(index)) as PiRecord);
	}
	const told = records
		.map(({ type }, index) => (index > prompted && type !== 'response' ? said(index) : ''))
		.join('');

	const commands = createInterface({ input: process.stdin });
	commands.on('line', (line) => {
		const { id, type } = JSON.parse(line) as PiRecord;
		const answer = answers.get(type) ?? { type: 'response', command: type, success: true };
		process.stdout.write(`${JSON.stringify({ ...answer, id })}\n`);
		if (type === 'prompt' && prompted >= 0) process.stdout.write(told);
	});
	commands.on('close', () => process.exit(0));
}
