# The shapes and texts of the SVG; its style and script are left out.
"$CAIRN" flame simple.collapsed -o - --format=svg --min-percent=1.2 |
    sed -e '/^<style>$/,/^<\/style>$/d' -e '/^<script>/,/<\/script>$/d'
