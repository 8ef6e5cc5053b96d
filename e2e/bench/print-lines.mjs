// Prints so many bytes a second for so many seconds, each line with the moment it was printed at:
// `node print-lines.mjs BYTES SECONDS`.
const [rate, seconds] = process.argv.slice(2).map(Number);
const began = Date.now();
let printed = 0;
let count = 0;
const timer = setInterval(() => {
	const elapsed = Math.min((Date.now() - began) / 1000, seconds);
	let text = '';
	while (printed + text.length < elapsed * rate) {
		text += `line ${++count} @${Date.now()} of a command that prints much and has little to say\n`;
	}
	printed += text.length;
	process.stdout.write(text);
	if (elapsed >= seconds) clearInterval(timer);
}, 5);
